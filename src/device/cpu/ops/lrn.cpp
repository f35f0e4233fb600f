#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "device/cpu/ops/ops.h"

namespace vdnn::cpu {
namespace {

// oneDNN's LRN saves a state of twice its map; computing the scale again from x costs a few
// additions and saves that memory. One pixel is gathered at a time, all channels side by side.
class Lrn : public CpuKernel {
 public:
  Lrn(bool forward, const Layout& layout, const LrnAttributes& attributes)
      : forward_(forward), layout_(layout), a_(attributes) {}

  [[nodiscard]] std::vector<Candidate> candidates() const override {
    return {{.algorithm = "loops", .workspace_bytes = row_bytes() * kRows * kThreadsAtMost}};
  }

  void run(int, const Call& call) override {
    const std::int64_t rows = layout_.shape[0] * layout_.shape[2];
    const std::int64_t chunks = std::min<std::int64_t>(kThreadsAtMost, rows);
    // A chunk has its own part of the workspace, whoever runs it.
#pragma omp parallel for schedule(static)
    for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
      auto* scratch = reinterpret_cast<float*>(call.arguments.back() + chunk * row_bytes() * kRows);
      for (std::int64_t row = rows * chunk / chunks; row < rows * (chunk + 1) / chunks; ++row) {
        for (std::int64_t w = 0; w < layout_.shape[3]; ++w) pixel(call, row, w, scratch);
      }
    }
  }

 private:
  static constexpr std::int64_t kThreadsAtMost = 64;
  static constexpr std::int64_t kRows = 6;  // arrays of one value per channel, with margins for the window

  [[nodiscard]] std::int64_t row_values() const {
    return layout_.padded_channels() + 2 * a_.size;
  }
  [[nodiscard]] std::int64_t row_bytes() const {
    return (row_values() * 4 + 63) / 64 * 64;
  }

  void pixel(const Call& call, std::int64_t row, std::int64_t w, float* scratch) const {
    const std::int64_t stride = row_bytes() / 4;
    float* x = scratch + a_.size;
    float* square = x + stride;
    float* scale = square + stride;
    float* part = scale + stride;
    float* power = part + stride;
    float* sum = power + stride;
    const std::int64_t n = row / layout_.shape[2];
    const std::int64_t at = (row % layout_.shape[2] * layout_.shape[3] + w) * layout_.pixel_stride();
    gather(call.floats(forward_ ? 0 : 1), n, at, x);
    const std::int64_t channels = layout_.shape[1];
    clear_margins(square, channels);
    for (std::int64_t c = 0; c < channels; ++c) square[c] = x[c] * x[c];
    const auto factor = static_cast<float>(a_.alpha / static_cast<double>(a_.size));
    window_sums(square, scale, channels);
    for (std::int64_t c = 0; c < channels; ++c) scale[c] = static_cast<float>(a_.k) + factor * scale[c];
    powers(scale, power, channels);
    if (forward_) {
      for (std::int64_t c = 0; c < channels; ++c) square[c] = x[c] * power[c];
      scatter(square, n, at, call.floats(1));
      return;
    }
    float* dy = square;
    gather(call.floats(0), n, at, dy);
    clear_margins(part, channels);
    for (std::int64_t c = 0; c < channels; ++c) part[c] = dy[c] * x[c] * power[c] / scale[c];
    window_sums(part, sum, channels);
    const auto back = static_cast<float>(2 * a_.alpha * a_.beta / static_cast<double>(a_.size));
    for (std::int64_t c = 0; c < channels; ++c) dy[c] = dy[c] * power[c] - back * x[c] * sum[c];
    scatter(dy, n, at, call.floats(2));
  }

  // scale to the power of -beta; the usual beta by roots, which vectorise.
  void powers(const float* scale, float* power, std::int64_t channels) const {
    if (a_.beta == 0.75) {
      for (std::int64_t c = 0; c < channels; ++c) power[c] = 1 / std::sqrt(scale[c] * std::sqrt(scale[c]));
      return;
    }
    for (std::int64_t c = 0; c < channels; ++c) power[c] = std::pow(scale[c], static_cast<float>(-a_.beta));
  }

  void clear_margins(float* values, std::int64_t channels) const {
    for (std::int64_t i = 1; i <= a_.size; ++i) values[-i] = values[channels + i - 1] = 0;
  }

  void window_sums(const float* values, float* sums, std::int64_t channels) const {
    const std::int64_t half = a_.size / 2;
    for (std::int64_t c = 0; c < channels; ++c) sums[c] = values[c - half];
    for (std::int64_t i = -half + 1; i <= half; ++i) {
      for (std::int64_t c = 0; c < channels; ++c) sums[c] += values[c + i];
    }
  }

  void gather(const float* from, std::int64_t n, std::int64_t at, float* values) const {
    const std::int64_t group = layout_.block == 0 ? 1 : layout_.block;
    for (std::int64_t c = 0; c < layout_.shape[1]; c += group) {
      const float* block = from + layout_.channel_offset(n, c) + at;
      for (std::int64_t i = 0; i < group && c + i < layout_.shape[1]; ++i) values[c + i] = block[i];
    }
  }

  // Channels that are padding become zero.
  void scatter(const float* values, std::int64_t n, std::int64_t at, float* to) const {
    const std::int64_t group = layout_.block == 0 ? 1 : layout_.block;
    for (std::int64_t c = 0; c < layout_.shape[1]; c += group) {
      float* block = to + layout_.channel_offset(n, c) + at;
      for (std::int64_t i = 0; i < group; ++i) block[i] = c + i < layout_.shape[1] ? values[c + i] : 0.0F;
    }
  }

  bool forward_;
  Layout layout_;
  LrnAttributes a_;
};

}  // namespace

void lower_lrn(Lowering& lowering, const TrainingOp& op) {
  const auto& a = std::get<LrnAttributes>(op.attributes);
  const Layout layout = lowering.layout(op.outputs[0]);
  lowering.emit_whole(
      op,
      fmt::format("{} {} {} {} {} {}", op_name(op.kind), layout_text(layout), a.size, a.alpha, a.beta, a.k),
      [&] { return std::make_shared<Lrn>(op.kind == OpKind::lrn, layout, a); });
}

}  // namespace vdnn::cpu
