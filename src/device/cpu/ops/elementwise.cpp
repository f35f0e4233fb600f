#include "device/cpu/ops/elementwise.h"

#include <fmt/format.h>

#include "device/cpu/ops/ops.h"

namespace vdnn::cpu {
namespace {

// Element-wise kernels run over whole buffers: padding holds zeros, and stays zero under all of them.
class Elementwise : public CpuKernel {
 public:
  using Body = void (*)(const Call& call, std::int64_t begin, std::int64_t end);
  Elementwise(Body body, std::int64_t count) : body_(body), count_(count) {}

  void run(int, const Call& call) override {
    parallel_ranges(count_, [&](std::int64_t begin, std::int64_t end) { body_(call, begin, end); });
  }

 private:
  Body body_;
  std::int64_t count_;
};

// Reads x; writes y, which may be x.
void relu(const Call& call, std::int64_t begin, std::int64_t end) {
  const float* x = call.floats(0);
  float* y = call.floats(1);
  // Written so that NaN passes through: a stale input must not hide behind the activation.
  for (std::int64_t i = begin; i < end; ++i) y[i] = x[i] <= 0 ? 0.0F : x[i];
}

// Reads dy and y; writes dx, which may be dy.
void relu_backward(const Call& call, std::int64_t begin, std::int64_t end) {
  const float* dy = call.floats(0);
  const float* y = call.floats(1);
  float* dx = call.floats(2);
  for (std::int64_t i = begin; i < end; ++i) dx[i] = y[i] <= 0 ? 0.0F : dy[i] + 0.0F * y[i];
}

// Reads a and b; writes the sum, which may be either.
void add(const Call& call, std::int64_t begin, std::int64_t end) {
  const float* a = call.floats(0);
  const float* b = call.floats(1);
  float* sum = call.floats(2);
  for (std::int64_t i = begin; i < end; ++i) sum[i] = a[i] + b[i];
}

void lower_elementwise(Lowering& lowering, const TrainingOp& op, Elementwise::Body body) {
  lowering.emit_elementwise(
      op, [body](std::int64_t count) { return std::make_shared<Elementwise>(body, count); });
}

// Reads gradient, weight and momentum; writes weight and momentum.
class SgdUpdate : public CpuKernel {
 public:
  SgdUpdate(const SgdAttributes& attributes, bool with_momentum, std::int64_t count)
      : attributes_(attributes), with_momentum_(with_momentum), count_(count) {}

  void run(int, const Call& call) override {
    const float* gradient = call.floats(0);
    float* weight = call.floats(1);
    float* momentum = with_momentum_ ? call.floats(2) : nullptr;
    const auto keep = static_cast<float>(attributes_.momentum);
    const auto decay = static_cast<float>(attributes_.weight_decay);
    const auto rate = static_cast<float>(call.scalars.learning_rate);
    parallel_ranges(count_, [=](std::int64_t begin, std::int64_t end) {
      if (momentum == nullptr) {
        for (std::int64_t i = begin; i < end; ++i) weight[i] -= rate * (gradient[i] + decay * weight[i]);
        return;
      }
      for (std::int64_t i = begin; i < end; ++i) {
        momentum[i] = keep * momentum[i] + (gradient[i] + decay * weight[i]);
        weight[i] -= rate * momentum[i];
      }
    });
  }

 private:
  SgdAttributes attributes_;
  bool with_momentum_;
  std::int64_t count_;
};

}  // namespace

void lower_relu(Lowering& lowering, const TrainingOp& op) {
  lower_elementwise(lowering, op, relu);
}
void lower_relu_backward(Lowering& lowering, const TrainingOp& op) {
  lower_elementwise(lowering, op, relu_backward);
}
void lower_add(Lowering& lowering, const TrainingOp& op) {
  lower_elementwise(lowering, op, add);
}

void lower_sgd_update(Lowering& lowering, const TrainingOp& op) {
  const auto update = [&](const View& gradient, const View& weight, const std::vector<View>& state) {
    lowering.emit_update(op, gradient, weight, state,
                         [](const SgdAttributes& a, bool with_momentum, std::int64_t count) {
                           return std::make_shared<SgdUpdate>(a, with_momentum, count);
                         });
  };
  const auto gradient = [&](const TrainingOp& made_by, std::int64_t first_row, std::int64_t rows) {
    emit_weight_gradient_slice(lowering, made_by, first_row, rows);
  };
  if (lowering.lower_sliced_update(op, gradient, update)) return;
  const View weight = lowering.view(op.inputs[1], op.layer);
  const auto state = std::span(op.inputs).subspan(2);
  // Optimizer state lies as the weight does.
  for (const auto id : state) lowering.choose_format(id, lowering.format(op.inputs[1]));
  const std::vector<View> state_views = lowering.views(state, op.layer);
  update(lowering.view(op.inputs[0], op.layer), weight, state_views);
}

}  // namespace vdnn::cpu
