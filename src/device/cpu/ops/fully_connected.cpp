#include <fmt/format.h>

#include <algorithm>

#include "device/cpu/ops/ops.h"
#include "vdnn/bytes.h"
#include "vdnn/error.h"

namespace vdnn::cpu {
namespace {

// Row-major c = op(a) op(b) + beta * c.
void multiply(char transpose_a, char transpose_b, std::int64_t m, std::int64_t n, std::int64_t k,
              const float* a, std::int64_t lda, const float* b, std::int64_t ldb, float beta, float* c,
              std::int64_t ldc) {
  const auto status = dnnl_sgemm(transpose_a, transpose_b, m, n, k, 1.0F, a, lda, b, ldb, beta, c, ldc);
  if (status != dnnl_success)
    throw DeviceError(fmt::format("oneDNN sgemm {}x{}x{}: status {}", m, n, k, static_cast<int>(status)));
}

struct Sizes {
  std::int64_t batch = 0;
  std::int64_t inputs = 0;
  std::int64_t outputs = 0;
};

// x [batch x inputs], weight [outputs x inputs][, bias] -> y [batch x outputs].
class Forward : public CpuKernel {
 public:
  Forward(const Sizes& sizes, bool bias) : s_(sizes), bias_(bias) {}

  void run(int, const Call& call) override {
    float* y = call.floats(bias_ ? 3 : 2);
    for (std::int64_t n = 0; bias_ && n < s_.batch; ++n) {
      std::copy_n(call.floats(2), s_.outputs, y + n * s_.outputs);
    }
    multiply('N', 'T', s_.batch, s_.outputs, s_.inputs, call.floats(0), s_.inputs, call.floats(1), s_.inputs,
             bias_ ? 1.0F : 0.0F, y, s_.outputs);
  }

 private:
  Sizes s_;
  bool bias_;
};

// weight, dy -> dx.
class BackwardData : public CpuKernel {
 public:
  explicit BackwardData(const Sizes& sizes) : s_(sizes) {}

  void run(int, const Call& call) override {
    multiply('N', 'N', s_.batch, s_.inputs, s_.outputs, call.floats(1), s_.outputs, call.floats(0), s_.inputs,
             0.0F, call.floats(2), s_.inputs);
  }

 private:
  Sizes s_;
};

// x, dy -> rows [first, first + rows) of dweight[, dbias].
class BackwardWeights : public CpuKernel {
 public:
  BackwardWeights(const Sizes& sizes, std::int64_t first_row, std::int64_t rows, bool bias)
      : s_(sizes), first_row_(first_row), rows_(rows), bias_(bias) {}

  void run(int, const Call& call) override {
    const float* dy = call.floats(1);
    multiply('T', 'N', rows_, s_.inputs, s_.batch, dy + first_row_, s_.outputs, call.floats(0), s_.inputs,
             0.0F, call.floats(2), s_.inputs);
    if (!bias_) return;
    float* dbias = call.floats(3);
    for (std::int64_t o = 0; o < s_.outputs; ++o) {
      float sum = 0;
      for (std::int64_t n = 0; n < s_.batch; ++n) sum += dy[n * s_.outputs + o];
      dbias[o] = sum;
    }
  }

 private:
  Sizes s_;
  std::int64_t first_row_;
  std::int64_t rows_;
  bool bias_;
};

Sizes sizes(const Shape& x, const Shape& y) {
  return {x[0], x.elements_per_example(), y[1]};
}

std::string text(const Sizes& s) {
  return fmt::format("{}x{}x{}", s.batch, s.inputs, s.outputs);
}

}  // namespace

void lower_fully_connected(Lowering& lowering, const TrainingOp& op) {
  std::vector<View> reads = {lowering.plain(op.inputs[0], op)};
  for (std::size_t i = 1; i < op.inputs.size(); ++i) reads.push_back(lowering.view(op.inputs[i], op.layer));
  const Sizes s = sizes(lowering.shape(op.inputs[0]), lowering.shape(op.outputs[0]));
  const bool bias = op.inputs.size() > 2;
  lowering.emit(op, std::move(reads), {lowering.view(op.outputs[0], op.layer)},
                fmt::format("fully_connected {}{}", text(s), bias ? " bias" : ""),
                [&] { return std::make_shared<Forward>(s, bias); });
}

void lower_fully_connected_backward_data(Lowering& lowering, const TrainingOp& op) {
  const TensorId dx = op.outputs[0];
  const Layout layout = lowering.layout(dx);
  const View target = layout.is_plain()
                          ? lowering.view(dx, op.layer)
                          : lowering.temporary(dx, "_plain", op.layer, plain_desc(layout.shape));
  const Sizes s = sizes(layout.shape, lowering.shape(op.inputs[1]));
  lowering.emit(op, {lowering.view(op.inputs[0], op.layer), lowering.view(op.inputs[1], op.layer)}, {target},
                fmt::format("fully_connected_backward_data {}", text(s)),
                [&] { return std::make_shared<BackwardData>(s); });
  if (!layout.is_plain()) lowering.store_plain(target, dx, op);
}

void emit_weight_gradient_slice(Lowering& lowering, const TrainingOp& gradient, std::int64_t first_row,
                                std::int64_t rows) {
  const Sizes s = sizes(lowering.shape(gradient.inputs[0]), lowering.shape(gradient.inputs[1]));
  const bool bias = gradient.outputs.size() > 1 && first_row == 0;
  const bool whole = rows == s.outputs;
  std::vector<View> writes = {
      whole ? lowering.view(gradient.outputs[0], gradient.layer)
            : lowering.piece(gradient.outputs[0], gradient.layer, first_row * s.inputs, rows * s.inputs)};
  if (bias) writes.push_back(lowering.view(gradient.outputs[1], gradient.layer));
  lowering.emit(
      gradient,
      {lowering.plain(gradient.inputs[0], gradient), lowering.view(gradient.inputs[1], gradient.layer)},
      std::move(writes),
      fmt::format("fully_connected_backward_weights {} rows {}+{}{}", text(s), first_row, rows,
                  bias ? " bias" : ""),
      [&] { return std::make_shared<BackwardWeights>(s, first_row, rows, bias); });
}

// Where the weight is learned in slices, their gradients come with the updates (lower_sgd_update).
void lower_fully_connected_backward_weights(Lowering& lowering, const TrainingOp& op) {
  const Shape& weight = lowering.shape(op.outputs[0]);
  if (rows_per_slice(weight[0], weight[1]) == weight[0])
    emit_weight_gradient_slice(lowering, op, 0, weight[0]);
}

}  // namespace vdnn::cpu
