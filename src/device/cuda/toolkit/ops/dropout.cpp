#include <fmt/format.h>

#include "device/cuda/toolkit/elements.h"
#include "device/cuda/toolkit/ops/ops.h"

namespace vdnn::cuda {
namespace {

// Forward and backward drop the same values: both are this map.
class DropoutKernel : public CudaKernel {
 public:
  DropoutKernel(const Layout& layout, double probability, std::uint32_t stream)
      : layout_(map_layout(layout)), probability_(static_cast<float>(probability)), stream_(stream) {}

  void run(int, const Call& call) override {
    dropout({call.floats(0), call.floats(1), layout_, probability_,
             CounterRandom(call.scalars.seed, stream_, static_cast<std::uint32_t>(call.scalars.step))},
            call.stream);
  }

 private:
  MapLayout layout_;
  float probability_;
  std::uint32_t stream_;  // of random numbers
};

}  // namespace

void lower_dropout(Lowering& lowering, const TrainingOp& op) {
  const double probability = std::get<DropoutAttributes>(op.attributes).probability;
  const Layout layout = lowering.layout(op.inputs[0]);
  lowering.emit_whole(
      op, fmt::format("{} {} {} {}", op_name(op.kind), layout_text(layout), probability, op.random_stream),
      [&] { return std::make_shared<DropoutKernel>(layout, probability, op.random_stream); });
}

}  // namespace vdnn::cuda
