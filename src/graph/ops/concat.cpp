#include "graph/ops/families.h"

namespace vdnn {
namespace {

Shape infer(const ForwardOp& op, std::span<const Shape> inputs) {
  std::int64_t channels = 0;
  for (const auto& x : inputs) {
    if (x.rank() != 4) refuse_shapes(op, inputs, "wants batch x channels x height x width");
    if (x[0] != inputs[0][0] || x[2] != inputs[0][2] || x[3] != inputs[0][3]) {
      refuse_shapes(op, inputs, "inputs must agree in all but channels");
    }
    channels += x[1];
  }
  return {inputs[0][0], channels, inputs[0][2], inputs[0][3]};
}

void gradient(Backward& backward, const TrainingOp& op) {
  std::vector<TensorId> parts;
  for (const auto x : op.inputs) parts.push_back(backward.add_gradient_like(x));
  backward.append(OpKind::split, op, {backward.gradient(op.outputs[0])}, parts);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (backward.needs_gradient(op.inputs[i])) backward.contribute(op, op.inputs[i], parts[i]);
  }
}

}  // namespace

const OpFamily kConcat = {OpKind::concat, NoAttributes{}, 1,       64, infer,
                          no_parameters,  forward_as_is,  gradient};

}  // namespace vdnn
