#include <fmt/format.h>

#include <algorithm>

#include "device/cuda/toolkit/elements.h"
#include "device/cuda/toolkit/ops/ops.h"

namespace vdnn::cuda {
namespace {

// Element-wise kernels run over whole buffers: layouts have no padding, and are the same on both sides.
class Elementwise : public CudaKernel {
 public:
  using Body = void (*)(const Call& call, std::int64_t count);
  Elementwise(Body body, std::int64_t count) : body_(body), count_(count) {}

  void run(int, const Call& call) override { body_(call, count_); }

 private:
  Body body_;
  std::int64_t count_;
};

void lower_elementwise(Lowering& lowering, const TrainingOp& op, Elementwise::Body body) {
  lowering.emit_elementwise(
      op, [body](std::int64_t count) { return std::make_shared<Elementwise>(body, count); });
}

// Reads gradient, weight and momentum; writes weight and momentum.
class SgdUpdateKernel : public CudaKernel {
 public:
  SgdUpdateKernel(const SgdAttributes& attributes, bool with_momentum, std::int64_t count)
      : attributes_(attributes), with_momentum_(with_momentum), count_(count) {}

  void run(int, const Call& call) override {
    sgd_update({.gradient = call.floats(0),
                .weight = call.floats(1),
                .momentum = with_momentum_ ? call.floats(2) : nullptr,
                .rate = static_cast<float>(call.scalars.learning_rate),
                .keep = static_cast<float>(attributes_.momentum),
                .decay = static_cast<float>(attributes_.weight_decay)},
               count_, call.stream);
  }

 private:
  SgdAttributes attributes_;
  bool with_momentum_;
  std::int64_t count_;
};

}  // namespace

void lower_relu(Lowering& lowering, const TrainingOp& op) {
  lower_elementwise(lowering, op, [](const Call& call, std::int64_t count) {
    relu(call.floats(0), call.floats(1), count, call.stream);
  });
}

void lower_relu_backward(Lowering& lowering, const TrainingOp& op) {
  lower_elementwise(lowering, op, [](const Call& call, std::int64_t count) {
    relu_backward(call.floats(0), call.floats(1), call.floats(2), count, call.stream);
  });
}

void lower_add(Lowering& lowering, const TrainingOp& op) {
  lower_elementwise(lowering, op, [](const Call& call, std::int64_t count) {
    add(call.floats(0), call.floats(1), call.floats(2), count, call.stream);
  });
}

void lower_sgd_update(Lowering& lowering, const TrainingOp& op) {
  const auto update = [&](const View& gradient, const View& weight, const std::vector<View>& state) {
    lowering.emit_update(op, gradient, weight, state,
                         [](const SgdAttributes& a, bool with_momentum, std::int64_t count) {
                           return std::make_shared<SgdUpdateKernel>(a, with_momentum, count);
                         });
  };
  const auto gradient = [&](const TrainingOp& made_by, std::int64_t first_row, std::int64_t rows) {
    emit_weight_gradient_slice(lowering, made_by, first_row, rows);
  };
  if (lowering.lower_sliced_update(op, gradient, update)) return;
  // Of one shape and so of one layout: gradient, weight and state.
  const View weight = lowering.view(op.inputs[1], op.layer);
  update(lowering.view(op.inputs[0], op.layer), weight,
         lowering.views(std::span(op.inputs).subspan(2), op.layer));
}

}  // namespace vdnn::cuda
