#include "graph/ops/families.h"

namespace vdnn {
namespace {

Shape infer(const ForwardOp& op, std::span<const Shape> inputs) {
  if (!(inputs[0] == inputs[1])) refuse_shapes(op, inputs, "inputs must have the same shape");
  return inputs[0];
}

// The gradient passes through: both inputs share the output's.
void gradient(Backward& backward, const TrainingOp& op) {
  const TensorId dy = backward.gradient(op.outputs[0]);
  for (const auto x : op.inputs) {
    if (backward.needs_gradient(x)) backward.contribute(op, x, dy);
  }
}

}  // namespace

const OpFamily kAdd = {OpKind::add, NoAttributes{}, 2, 2, infer, no_parameters, forward_as_is, gradient};

}  // namespace vdnn
