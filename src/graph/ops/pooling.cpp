#include <fmt/format.h>

#include "graph/ops/families.h"

namespace vdnn {
namespace {

Shape infer(const ForwardOp& op, std::span<const Shape> inputs) {
  const auto& a = std::get<PoolingAttributes>(op.attributes);
  const Shape& x = inputs[0];
  if (x.rank() != 4) refuse_shapes(op, inputs, "wants batch x channels x height x width");
  if (a.global) return {x[0], x[1], 1, 1};
  if (a.kernel.height < 1 || a.kernel.width < 1 || a.stride.height < 1 || a.stride.width < 1) {
    refuse_shapes(op, inputs, "kernel and stride must be at least 1");
  }
  if (a.padding.height < 0 || a.padding.width < 0 || a.padding.height >= a.kernel.height ||
      a.padding.width >= a.kernel.width) {
    refuse_shapes(op, inputs, "padding must be at least 0 and below the kernel");
  }
  const auto height = window_outputs(x[2], a.kernel.height, a.stride.height, a.padding.height, 1, a.ceil);
  const auto width = window_outputs(x[3], a.kernel.width, a.stride.width, a.padding.width, 1, a.ceil);
  if (height < 1 || width < 1) {
    refuse_shapes(op, inputs,
                  fmt::format("the image is too small for a {}x{} window", a.kernel.height, a.kernel.width));
  }
  return {x[0], x[1], height, width};
}

// Keeps which value of each window won, an index into the window: one byte where that is enough.
void max_forward(Backward& backward, TrainingOp op) {
  const auto& a = std::get<PoolingAttributes>(op.attributes);
  const Shape& x = backward.tensor(op.inputs[0]).shape;
  const std::int64_t window = a.global ? x[2] * x[3] : a.kernel.height * a.kernel.width;
  op.outputs.push_back(backward.add_tensor({.name = op.name + ".indices",
                                            .shape = backward.tensor(op.outputs[0]).shape,
                                            .type = window <= 256 ? DataType::index8 : DataType::int32}));
  backward.append(std::move(op));
}

void max_gradient(Backward& backward, const TrainingOp& op) {
  if (!backward.needs_gradient(op.inputs[0])) return;
  const TensorId dx = backward.add_gradient_like(op.inputs[0]);
  backward.append(OpKind::max_pool_backward, op, {backward.gradient(op.outputs[0]), op.outputs[1]}, {dx});
  backward.contribute(op, op.inputs[0], dx);
}

void average_gradient(Backward& backward, const TrainingOp& op) {
  if (!backward.needs_gradient(op.inputs[0])) return;
  const TensorId dx = backward.add_gradient_like(op.inputs[0]);
  backward.append(OpKind::average_pool_backward, op, {backward.gradient(op.outputs[0])}, {dx});
  backward.contribute(op, op.inputs[0], dx);
}

}  // namespace

const OpFamily kMaxPool = {OpKind::max_pool, PoolingAttributes{}, 1,           1, infer,
                           no_parameters,    max_forward,         max_gradient};
const OpFamily kAveragePool = {OpKind::average_pool, PoolingAttributes{}, 1, 1, infer, no_parameters,
                               forward_as_is,        average_gradient};

}  // namespace vdnn
