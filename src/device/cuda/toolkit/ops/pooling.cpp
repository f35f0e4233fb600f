#include <fmt/format.h>

#include <cstdint>
#include <memory>

#include "device/cuda/toolkit/elements.h"
#include "device/cuda/toolkit/ops/ops.h"

namespace vdnn::cuda {
namespace {

constexpr std::int64_t kPositionsOfByte = 256;

// Forward: x -> y, positions. Backward: dy, positions -> dx.
template <class Position>
class MaxPooling : public CudaKernel {
 public:
  MaxPooling(bool forward, const Windows& windows) : forward_(forward), windows_(windows) {}

  void run(int, const Call& call) override {
    const auto positions = [&](std::size_t argument) {
      return reinterpret_cast<Position*>(call.bytes(argument));
    };
    if (forward_) {
      return max_pool<Position>({call.floats(0), call.floats(1), positions(2), windows_}, call.stream);
    }
    max_pool_backward<Position>({call.floats(0), positions(1), call.floats(2), windows_}, call.stream);
  }

 private:
  bool forward_;
  Windows windows_;
};

// Forward: x -> y. Backward: dy -> dx.
class AveragePooling : public CudaKernel {
 public:
  AveragePooling(bool forward, const Windows& windows) : forward_(forward), windows_(windows) {}

  void run(int, const Call& call) override {
    if (forward_) return average_pool({call.floats(0), call.floats(1), windows_}, call.stream);
    average_pool_backward({call.floats(0), call.floats(1), windows_}, call.stream);
  }

 private:
  bool forward_;
  Windows windows_;
};

std::shared_ptr<CudaKernel> make_pooling(bool max, bool forward, const Windows& windows) {
  if (!max) return std::make_shared<AveragePooling>(forward, windows);
  if (windows.positions() > kPositionsOfByte)
    return std::make_shared<MaxPooling<std::int32_t>>(forward, windows);
  return std::make_shared<MaxPooling<std::uint8_t>>(forward, windows);
}

}  // namespace

void lower_pooling(Lowering& lowering, const TrainingOp& op) {
  const bool max = op.kind == OpKind::max_pool || op.kind == OpKind::max_pool_backward;
  const bool forward = op.kind == OpKind::max_pool || op.kind == OpKind::average_pool;
  const auto& a = std::get<PoolingAttributes>(op.attributes);
  const Layout x = lowering.layout(forward ? op.inputs[0] : op.outputs[0]);
  const Layout y = lowering.layout(forward ? op.outputs[0] : op.inputs[0]);
  const Windows windows = make_windows(a, x, y);
  std::vector<View> reads = {lowering.view(op.inputs[0], op.layer)};
  std::vector<View> writes = {lowering.view(op.outputs[0], op.layer)};
  if (max) {
    // A position for every value of y, where it lies.
    const std::int64_t position_bytes = windows.positions() > kPositionsOfByte ? 4 : 1;
    auto& list = forward ? writes : reads;
    list.push_back(
        lowering.opaque(forward ? op.outputs[1] : op.inputs[1], op.layer, position_bytes * y.values()));
  }
  const std::string signature =
      fmt::format("{} {} {} k{}x{} s{}x{} p{}x{}{}", op_name(op.kind), layout_text(x), layout_text(y),
                  a.kernel.height, a.kernel.width, a.stride.height, a.stride.width, a.padding.height,
                  a.padding.width, a.global ? " global" : "");
  lowering.emit(op, std::move(reads), std::move(writes), signature,
                [&] { return make_pooling(max, forward, windows); });
}

}  // namespace vdnn::cuda
