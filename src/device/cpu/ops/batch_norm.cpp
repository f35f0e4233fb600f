#include <fmt/format.h>

#include "device/cpu/ops/ops.h"

namespace vdnn::cpu {
namespace {

class BatchNorm : public CpuKernel {
 public:
  BatchNorm(bool forward, const Layout& x, double epsilon)
      : forward_(forward),
        x_(x.desc()),
        channels_(plain_desc({x.shape[1]})),
        primitive_(make_batch_norm(forward, x_, epsilon)) {}

  [[nodiscard]] std::vector<Candidate> candidates() const override {
    return {{.algorithm = "batch_norm", .workspace_bytes = primitive_.scratchpad_bytes()}};
  }

  // Forward: x, scale, shift -> y, mean, variance.
  // Backward: x, mean, variance, scale, dy -> dx, dscale, dshift.
  void run(int, const Call& call) override {
    std::byte* scratchpad = primitive_.scratchpad_bytes() > 0 ? call.arguments.back() : nullptr;
    if (forward_) {
      primitive_.run(call.runtime,
                     {{DNNL_ARG_SRC, &x_, call.bytes(0)},
                      {DNNL_ARG_SCALE, &channels_, call.bytes(1)},
                      {DNNL_ARG_SHIFT, &channels_, call.bytes(2)},
                      {DNNL_ARG_DST, &x_, call.bytes(3)},
                      {DNNL_ARG_MEAN, &channels_, call.bytes(4)},
                      {DNNL_ARG_VARIANCE, &channels_, call.bytes(5)}},
                     scratchpad);
      return;
    }
    // oneDNN 2.6 refuses to run without a shift, which it does not read: the scale stands in for it.
    primitive_.run(call.runtime,
                   {{DNNL_ARG_SRC, &x_, call.bytes(0)},
                    {DNNL_ARG_MEAN, &channels_, call.bytes(1)},
                    {DNNL_ARG_VARIANCE, &channels_, call.bytes(2)},
                    {DNNL_ARG_SCALE, &channels_, call.bytes(3)},
                    {DNNL_ARG_SHIFT, &channels_, call.bytes(3)},
                    {DNNL_ARG_DIFF_DST, &x_, call.bytes(4)},
                    {DNNL_ARG_DIFF_SRC, &x_, call.bytes(5)},
                    {DNNL_ARG_DIFF_SCALE, &channels_, call.bytes(6)},
                    {DNNL_ARG_DIFF_SHIFT, &channels_, call.bytes(7)}},
                   scratchpad);
  }

 private:
  bool forward_;
  Desc x_;
  Desc channels_;
  LazyPrimitive primitive_;
};

// Reads mean, variance and the running ones, which it updates.
class Statistics : public CpuKernel {
 public:
  Statistics(std::int64_t channels, double momentum)
      : channels_(channels), momentum_(static_cast<float>(momentum)) {}

  void run(int, const Call& call) override {
    for (std::size_t i = 0; i < 2; ++i) {
      const float* batch = call.floats(i);
      float* running = call.floats(i + 2);
      for (std::int64_t c = 0; c < channels_; ++c)
        running[c] = (1 - momentum_) * running[c] + momentum_ * batch[c];
    }
  }

 private:
  std::int64_t channels_;
  float momentum_;
};

void lower_norm(Lowering& lowering, const TrainingOp& op, bool forward) {
  const Layout x = lowering.layout(op.inputs[0]);
  const double epsilon = std::get<BatchNormAttributes>(op.attributes).epsilon;
  lowering.emit_whole(op, fmt::format("{} {} {}", op_name(op.kind), layout_text(x), epsilon),
                      [&] { return std::make_shared<BatchNorm>(forward, x, epsilon); });
}

}  // namespace

void lower_batch_norm(Lowering& lowering, const TrainingOp& op) {
  lower_norm(lowering, op, true);
}
void lower_batch_norm_backward(Lowering& lowering, const TrainingOp& op) {
  lower_norm(lowering, op, false);
}

void lower_batch_norm_statistics(Lowering& lowering, const TrainingOp& op) {
  const std::int64_t channels = lowering.shape(op.inputs[0])[0];
  const double momentum = std::get<BatchNormAttributes>(op.attributes).momentum;
  lowering.emit_whole(op, fmt::format("batch_norm_statistics {} {}", channels, momentum),
                      [&] { return std::make_shared<Statistics>(channels, momentum); });
}

}  // namespace vdnn::cpu
