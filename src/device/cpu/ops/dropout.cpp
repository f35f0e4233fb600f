#include <fmt/format.h>

#include <cstring>

#include "base/counter_random.h"
#include "device/cpu/ops/ops.h"

namespace vdnn::cpu {
namespace {

// Which values are dropped depends on their row-major position, whatever the layout.
class Dropout : public CpuKernel {
 public:
  Dropout(const Layout& layout, double probability, std::uint32_t stream)
      : layout_(layout), probability_(static_cast<float>(probability)), stream_(stream) {}

  void run(int, const Call& call) override {
    const float* x = call.floats(0);
    float* y = call.floats(1);
    const CounterRandom random(call.scalars.seed, stream_, static_cast<std::uint32_t>(call.scalars.step));
    if (layout_.block == 0) {
      const std::int64_t count = layout_.shape.elements();
      constexpr std::int64_t kPiece = 1 << 14;
#pragma omp parallel for schedule(static)
      for (std::int64_t begin = 0; begin < count; begin += kPiece) {
        line(random, begin, std::min(kPiece, count - begin), x + begin, y + begin, 1);
      }
      return;
    }
    const std::int64_t pixels = layout_.shape[2] * layout_.shape[3];
    const std::int64_t lines = layout_.shape[0] * layout_.padded_channels();
#pragma omp parallel for schedule(static)
    for (std::int64_t l = 0; l < lines; ++l) {
      const std::int64_t n = l / layout_.padded_channels();
      const std::int64_t c = l % layout_.padded_channels();
      const std::int64_t at = layout_.channel_offset(n, c);
      if (c < layout_.shape[1]) {
        line(random, (n * layout_.shape[1] + c) * pixels, pixels, x + at, y + at, layout_.block);
      } else {
        for (std::int64_t i = 0; i < pixels; ++i) y[at + i * layout_.block] = 0;
      }
    }
  }

 private:
  void line(const CounterRandom& random, std::int64_t first, std::int64_t count, const float* x, float* y,
            std::int64_t stride) const {
    const float scale = 1 / (1 - probability_);
    std::uint64_t drawn = UINT64_MAX;
    std::array<std::uint32_t, 4> draws{};
    for (std::int64_t i = 0; i < count; ++i) {
      const auto element = static_cast<std::uint64_t>(first + i);
      if (element / 4 != drawn) {
        drawn = element / 4;
        draws = random.draws(drawn);
      }
      const float uniform = static_cast<float>(draws[element % 4] >> 8) * 0x1.0p-24F;
      // Multiplying by zero would keep NaN, which a stale input must; a dropped infinity is no concern.
      y[i * stride] = uniform < probability_ ? 0.0F * x[i * stride] : scale * x[i * stride];
    }
  }

  Layout layout_;
  float probability_;
  std::uint32_t stream_;
};

}  // namespace

void lower_dropout(Lowering& lowering, const TrainingOp& op) {
  const double probability = std::get<DropoutAttributes>(op.attributes).probability;
  const Layout layout = lowering.layout(op.inputs[0]);
  lowering.emit_whole(
      op, fmt::format("{} {} {} {}", op_name(op.kind), layout_text(layout), probability, op.random_stream),
      [&] { return std::make_shared<Dropout>(layout, probability, op.random_stream); });
}

}  // namespace vdnn::cpu
