#include "graph/ops/families.h"

namespace vdnn {
namespace {

Shape infer(const ForwardOp&, std::span<const Shape> inputs) {
  return inputs[0];
}

// From the output: relu(x) > 0 exactly where x > 0, so that x need not be kept.
void gradient(Backward& backward, const TrainingOp& op) {
  if (!backward.needs_gradient(op.inputs[0])) return;
  const TensorId dx = backward.add_gradient_like(op.inputs[0]);
  backward.append(OpKind::relu_backward, op, {backward.gradient(op.outputs[0]), op.outputs[0]}, {dx});
  backward.contribute(op, op.inputs[0], dx);
}

}  // namespace

const OpFamily kRelu = {OpKind::relu, NoAttributes{}, 1, 1, infer, no_parameters, forward_as_is, gradient};

}  // namespace vdnn
