#include <fmt/format.h>

#include <algorithm>

#include "device/cuda/toolkit/bias.h"
#include "device/cuda/toolkit/matmul.h"
#include "device/cuda/toolkit/ops/ops.h"
#include "device/cuda/toolkit/workspace.h"
#include "vdnn/bytes.h"

namespace vdnn::cuda {
namespace {

struct Sizes {
  std::int64_t batch = 0;
  std::int64_t inputs = 0;
  std::int64_t outputs = 0;
};

// x [batch x inputs], weight [outputs x inputs][, bias] -> y [batch x outputs].
class Forward : public CudaKernel {
 public:
  Forward(Libraries& libraries, const Sizes& s, bool bias, std::string_view name)
      : bias_(bias),
        product_(libraries,
                 {.m = s.batch,
                  .n = s.outputs,
                  .k = s.inputs,
                  .a = {.row_stride = s.inputs},
                  .b = {.orientation = Orientation::transposed, .row_stride = s.inputs},
                  .bias = bias},
                 name) {}

  [[nodiscard]] std::vector<Candidate> candidates() const override { return product_.candidates(); }

  void run(int candidate, const Call& call) override {
    product_.run(candidate, call.libraries, call.stream,
                 {.a = call.floats(0),
                  .b = call.floats(1),
                  .bias = bias_ ? call.floats(2) : nullptr,
                  .c = call.floats(bias_ ? 3 : 2),
                  .workspace = call.workspace()});
  }

 private:
  bool bias_;
  Matmul product_;
};

// weight, dy -> dx.
class BackwardData : public CudaKernel {
 public:
  BackwardData(Libraries& libraries, const Sizes& s, std::string_view name)
      : product_(libraries,
                 {.m = s.batch,
                  .n = s.inputs,
                  .k = s.outputs,
                  .a = {.row_stride = s.outputs},
                  .b = {.row_stride = s.inputs}},
                 name) {}

  [[nodiscard]] std::vector<Candidate> candidates() const override { return product_.candidates(); }

  void run(int candidate, const Call& call) override {
    product_.run(
        candidate, call.libraries, call.stream,
        {.a = call.floats(1), .b = call.floats(0), .c = call.floats(2), .workspace = call.workspace()});
  }

 private:
  Matmul product_;
};

// What is sure of the address of a buffer's value number `index`.
std::int64_t alignment_bytes(std::int64_t index) {
  std::int64_t alignment = kPlacedAlignmentBytes;
  while (index * 4 % alignment != 0) alignment /= 2;
  return alignment;
}

// x, dy -> rows [first, first + rows) of dweight[, dbias].
class BackwardWeights : public CudaKernel {
 public:
  BackwardWeights(Libraries& libraries, const Sizes& s, std::int64_t first_row, std::int64_t rows, bool bias,
                  std::string_view name)
      : dy_layout_{.shape = {s.batch, s.outputs}},
        first_row_(first_row),
        values_(rows * s.inputs),
        bias_(bias),
        product_(libraries,
                 {.m = rows,
                  .n = s.inputs,
                  .k = s.batch,
                  .a = {.orientation = Orientation::transposed,
                        .row_stride = s.outputs,
                        .alignment_bytes = alignment_bytes(first_row)},
                  .b = {.row_stride = s.inputs}},
                 name) {}

  [[nodiscard]] std::vector<Candidate> candidates() const override { return product_.candidates(); }

  void run(int candidate, const Call& call) override {
    // First, because the weight's gradient, which is yet to be made, is its scratch.
    if (bias_)
      sum_bias_gradient(call.floats(3), call.floats(1), dy_layout_, {call.floats(2), values_}, call.stream);
    product_.run(candidate, call.libraries, call.stream,
                 {.a = call.floats(1) + first_row_,
                  .b = call.floats(0),
                  .c = call.floats(2),
                  .workspace = call.workspace()});
  }

 private:
  Layout dy_layout_;
  std::int64_t first_row_;
  std::int64_t values_;
  bool bias_;
  Matmul product_;
};

Sizes sizes(const Shape& x, const Shape& y) {
  return {x[0], x.elements_per_example(), y[1]};
}

std::string signature(std::string_view op, Lowering& lowering, const Sizes& s, std::string_view rest) {
  return fmt::format("{} {}x{}x{}{}{}", op, s.batch, s.inputs, s.outputs, rest,
                     precision_text(lowering.libraries().precision()));
}

// For errors.
std::string title(const TrainingOp& op) {
  return fmt::format("{} {}", op_name(op.kind), op.name);
}

}  // namespace

void lower_fully_connected(Lowering& lowering, const TrainingOp& op) {
  std::vector<View> reads = {lowering.row_major(op.inputs[0], op)};
  for (std::size_t i = 1; i < op.inputs.size(); ++i) reads.push_back(lowering.view(op.inputs[i], op.layer));
  const Sizes s = sizes(lowering.shape(op.inputs[0]), lowering.shape(op.outputs[0]));
  const bool bias = op.inputs.size() > 2;
  lowering.emit(op, std::move(reads), {lowering.view(op.outputs[0], op.layer)},
                signature("fully_connected", lowering, s, bias ? " bias" : ""),
                [&] { return std::make_shared<Forward>(lowering.libraries(), s, bias, title(op)); });
}

void lower_fully_connected_backward_data(Lowering& lowering, const TrainingOp& op) {
  const TensorId dx = op.outputs[0];
  const Layout layout = lowering.layout(dx);
  const View target = layout.is_row_major()
                          ? lowering.view(dx, op.layer)
                          : lowering.temporary(dx, "_row_major", op.layer, {.shape = layout.shape});
  const Sizes s = sizes(layout.shape, lowering.shape(op.inputs[1]));
  lowering.emit(op, {lowering.view(op.inputs[0], op.layer), lowering.view(op.inputs[1], op.layer)}, {target},
                signature("fully_connected_backward_data", lowering, s, ""),
                [&] { return std::make_shared<BackwardData>(lowering.libraries(), s, title(op)); });
  if (!layout.is_row_major()) lowering.store_row_major(target, dx, op);
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
      {lowering.row_major(gradient.inputs[0], gradient), lowering.view(gradient.inputs[1], gradient.layer)},
      std::move(writes),
      signature("fully_connected_backward_weights", lowering, s,
                fmt::format(" rows {}+{}{}", first_row, rows, bias ? " bias" : "")),
      [&] {
        return std::make_shared<BackwardWeights>(lowering.libraries(), s, first_row, rows, bias,
                                                 title(gradient));
      });
}

// Where the weight is learned in slices, their gradients come with the updates (lower_sgd_update).
void lower_fully_connected_backward_weights(Lowering& lowering, const TrainingOp& op) {
  const Shape& weight = lowering.shape(op.outputs[0]);
  if (rows_per_slice(weight[0], weight[1]) == weight[0])
    emit_weight_gradient_slice(lowering, op, 0, weight[0]);
}

}  // namespace vdnn::cuda
