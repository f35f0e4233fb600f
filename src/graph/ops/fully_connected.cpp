#include "graph/ops/families.h"

namespace vdnn {
namespace {

Shape infer(const ForwardOp& op, std::span<const Shape> inputs) {
  const auto& a = std::get<FullyConnectedAttributes>(op.attributes);
  if (inputs[0].rank() < 2) refuse_shapes(op, inputs, "wants a batch of vectors or images");
  if (a.features < 1) refuse_shapes(op, inputs, "features must be at least 1");
  return {inputs[0][0], a.features};
}

std::vector<Parameter> parameters(const ForwardOp& op, std::span<const Shape> inputs) {
  const auto& a = std::get<FullyConnectedAttributes>(op.attributes);
  const std::int64_t features = inputs[0].elements_per_example();
  std::vector<Parameter> result = {{.name = op.name + ".weight",
                                    .shape = {a.features, features},
                                    .initializer = Initializer::glorot_uniform,
                                    .fan_in = features,
                                    .fan_out = a.features}};
  if (a.bias) result.push_back({.name = op.name + ".bias", .shape = {a.features}});
  return result;
}

// Data before weights: the large weight gradient is then consumed by the update as it is made.
void gradient(Backward& backward, const TrainingOp& op) {
  const TensorId x = op.inputs[0];
  const TensorId dy = backward.gradient(op.outputs[0]);
  if (backward.needs_gradient(x)) {
    const TensorId dx = backward.add_gradient_like(x);
    backward.append(OpKind::fully_connected_backward_data, op, {op.inputs[1], dy}, {dx});
    backward.contribute(op, x, dx);
  }
  std::vector<TensorId> gradients;
  for (std::size_t i = 1; i < op.inputs.size(); ++i)
    gradients.push_back(backward.add_gradient_like(op.inputs[i]));
  backward.append(OpKind::fully_connected_backward_weights, op, {x, dy}, gradients);
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    backward.contribute_parameter(op.inputs[i + 1], gradients[i]);
  }
}

}  // namespace

const OpFamily kFullyConnected = {
    OpKind::fully_connected, FullyConnectedAttributes{}, 1, 1, infer, parameters, forward_as_is, gradient};

}  // namespace vdnn
