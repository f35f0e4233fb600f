#include "graph/ops/families.h"

namespace vdnn {
namespace {

Shape infer(const ForwardOp& op, std::span<const Shape> inputs) {
  if (inputs[0].rank() != 4) refuse_shapes(op, inputs, "wants batch x channels x height x width");
  const auto& a = std::get<BatchNormAttributes>(op.attributes);
  if (!(a.epsilon > 0)) refuse_shapes(op, inputs, "epsilon must be positive");
  if (inputs[0][0] * inputs[0][2] * inputs[0][3] < 2) {
    refuse_shapes(op, inputs, "needs at least two values per channel to normalise");
  }
  return inputs[0];
}

std::vector<Parameter> parameters(const ForwardOp& op, std::span<const Shape> inputs) {
  const Shape channels = {inputs[0][1]};
  return {{.name = op.name + ".weight", .shape = channels, .initializer = Initializer::ones},
          {.name = op.name + ".bias", .shape = channels},
          {.name = op.name + ".running_mean", .shape = channels, .statistics = true},
          {.name = op.name + ".running_var",
           .shape = channels,
           .initializer = Initializer::ones,
           .statistics = true}};
}

// Inputs: x, scale, shift. Outputs: y, mean, variance. The running statistics are an op of their
// own, so that computing a layer twice never counts a batch twice.
void forward(Backward& backward, TrainingOp op) {
  const TensorId running_mean = op.inputs[3];
  const TensorId running_variance = op.inputs[4];
  op.inputs.resize(3);
  const Shape channels = {backward.tensor(op.inputs[0]).shape[1]};
  const TensorId mean = backward.add_tensor({.name = op.name + ".mean", .shape = channels});
  const TensorId variance = backward.add_tensor({.name = op.name + ".variance", .shape = channels});
  op.outputs.push_back(mean);
  op.outputs.push_back(variance);
  backward.append(op);
  backward.append(OpKind::batch_norm_statistics, op, {mean, variance, running_mean, running_variance},
                  {running_mean, running_variance});
}

void gradient(Backward& backward, const TrainingOp& op) {
  const TensorId dx = backward.add_gradient_like(op.inputs[0]);
  const TensorId dscale = backward.add_gradient_like(op.inputs[1]);
  const TensorId dshift = backward.add_gradient_like(op.inputs[2]);
  backward.append(
      OpKind::batch_norm_backward, op,
      {op.inputs[0], op.outputs[1], op.outputs[2], op.inputs[1], backward.gradient(op.outputs[0])},
      {dx, dscale, dshift});
  backward.contribute_parameter(op.inputs[1], dscale);
  backward.contribute_parameter(op.inputs[2], dshift);
  if (backward.needs_gradient(op.inputs[0])) backward.contribute(op, op.inputs[0], dx);
}

}  // namespace

const OpFamily kBatchNorm = {
    OpKind::batch_norm, BatchNormAttributes{}, 1, 1, infer, parameters, forward, gradient};

}  // namespace vdnn
