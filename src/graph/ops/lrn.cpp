#include <cmath>

#include "graph/ops/families.h"

namespace vdnn {
namespace {

Shape infer(const ForwardOp& op, std::span<const Shape> inputs) {
  const auto& a = std::get<LrnAttributes>(op.attributes);
  if (inputs[0].rank() != 4) refuse_shapes(op, inputs, "wants batch x channels x height x width");
  if (!(a.k > 0) || !(a.alpha >= 0) || !std::isfinite(a.k + a.alpha + a.beta)) {
    refuse_shapes(op, inputs, "k must be positive, alpha not negative, and all finite");
  }
  if (a.size < 1 || a.size % 2 == 0) refuse_shapes(op, inputs, "size must be odd and positive");
  return inputs[0];
}

// The scale is computed again from x: a sum over a few channels costs less than keeping a map.
void gradient(Backward& backward, const TrainingOp& op) {
  if (!backward.needs_gradient(op.inputs[0])) return;
  const TensorId dx = backward.add_gradient_like(op.inputs[0]);
  backward.append(OpKind::lrn_backward, op, {backward.gradient(op.outputs[0]), op.inputs[0]}, {dx});
  backward.contribute(op, op.inputs[0], dx);
}

}  // namespace

const OpFamily kLrn = {OpKind::lrn, LrnAttributes{}, 1, 1, infer, no_parameters, forward_as_is, gradient};

}  // namespace vdnn
