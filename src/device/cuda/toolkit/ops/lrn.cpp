#include <fmt/format.h>

#include "device/cuda/toolkit/elements.h"
#include "device/cuda/toolkit/ops/ops.h"

namespace vdnn::cuda {
namespace {

// x -> y.
class LrnForwardKernel : public CudaKernel {
 public:
  explicit LrnForwardKernel(const LrnScales<float>& scales) : scales_(scales) {}

  void run(int, const Call& call) override { lrn({call.floats(0), call.floats(1), scales_}, call.stream); }

 private:
  LrnScales<float> scales_;
};

// dy, x -> dx.
class LrnBackwardKernel : public CudaKernel {
 public:
  explicit LrnBackwardKernel(const LrnScales<float>& scales) : scales_(scales) {}

  void run(int, const Call& call) override {
    lrn_backward({call.floats(0), call.floats(1), call.floats(2), scales_}, call.stream);
  }

 private:
  LrnScales<float> scales_;
};

}  // namespace

void lower_lrn(Lowering& lowering, const TrainingOp& op) {
  const auto& a = std::get<LrnAttributes>(op.attributes);
  const Layout layout = lowering.layout(op.outputs[0]);
  lowering.emit_whole(
      op,
      fmt::format("{} {} {} {} {} {}", op_name(op.kind), layout_text(layout), a.size, a.alpha, a.beta, a.k),
      [&]() -> std::shared_ptr<CudaKernel> {
        const auto scales = make_lrn_scales<float>(a, layout);
        if (op.kind == OpKind::lrn) return std::make_shared<LrnForwardKernel>(scales);
        return std::make_shared<LrnBackwardKernel>(scales);
      });
}

}  // namespace vdnn::cuda
