#include "graph/ops/families.h"

namespace vdnn {
namespace {

Shape infer(const ForwardOp& op, std::span<const Shape> inputs) {
  const auto& a = std::get<DropoutAttributes>(op.attributes);
  if (!(a.probability >= 0 && a.probability < 1)) {
    refuse_shapes(op, inputs, "probability must be at least 0 and below 1");
  }
  return inputs[0];
}

// The mask is a function of seed, step and op, so it is drawn again instead of kept.
void gradient(Backward& backward, const TrainingOp& op) {
  if (!backward.needs_gradient(op.inputs[0])) return;
  const TensorId dx = backward.add_gradient_like(op.inputs[0]);
  backward.append(OpKind::dropout_backward, op, {backward.gradient(op.outputs[0])}, {dx});
  backward.contribute(op, op.inputs[0], dx);
}

}  // namespace

const OpFamily kDropout = {OpKind::dropout, DropoutAttributes{}, 1,       1, infer,
                           no_parameters,   forward_as_is,       gradient};

}  // namespace vdnn
