#include <fmt/format.h>

#include "device/cuda/toolkit/elements.h"
#include "device/cuda/toolkit/ops/ops.h"
#include "vdnn/error.h"

namespace vdnn::cuda {
namespace {

constexpr std::int64_t kMostPositions = 256;  // that a byte tells apart

// Forward: x -> y[, positions]. Backward: dy[, positions] -> dx.
class Pooling : public CudaKernel {
 public:
  Pooling(OpKind kind, const Windows& windows) : kind_(kind), windows_(windows) {}

  void run(int, const Call& call) override {
    switch (kind_) {
      case OpKind::max_pool:
        return max_pool({call.floats(0), call.floats(1), positions(call, 2), windows_}, call.stream);
      case OpKind::max_pool_backward:
        return max_pool_backward({call.floats(0), positions(call, 1), call.floats(2), windows_}, call.stream);
      case OpKind::average_pool:
        return average_pool({call.floats(0), call.floats(1), windows_}, call.stream);
      default:
        return average_pool_backward({call.floats(0), call.floats(1), windows_}, call.stream);
    }
  }

 private:
  static std::uint8_t* positions(const Call& call, std::size_t argument) {
    return reinterpret_cast<std::uint8_t*>(call.bytes(argument));
  }

  OpKind kind_;
  Windows windows_;
};

}  // namespace

void lower_pooling(Lowering& lowering, const TrainingOp& op) {
  const bool max = op.kind == OpKind::max_pool || op.kind == OpKind::max_pool_backward;
  const bool forward = op.kind == OpKind::max_pool || op.kind == OpKind::average_pool;
  const auto& a = std::get<PoolingAttributes>(op.attributes);
  const Layout x = lowering.layout(forward ? op.inputs[0] : op.outputs[0]);
  const Layout y = lowering.layout(forward ? op.outputs[0] : op.inputs[0]);
  const Windows windows = make_windows(a, x, y);
  if (max && windows.positions() > kMostPositions) {
    throw UnsupportedError(fmt::format("device cuda: {} {}: a window of {}x{} has more than {} positions",
                                       op_name(op.kind), op.name, windows.rows.kernel, windows.columns.kernel,
                                       kMostPositions));
  }
  std::vector<View> reads = {lowering.view(op.inputs[0], op.layer)};
  std::vector<View> writes = {lowering.view(op.outputs[0], op.layer)};
  if (max) {
    // A byte for every value of y, where it lies.
    auto& list = forward ? writes : reads;
    list.push_back(lowering.opaque(forward ? op.outputs[1] : op.inputs[1], op.layer, y.values()));
  }
  const std::string signature =
      fmt::format("{} {} {} k{}x{} s{}x{} p{}x{}{}", op_name(op.kind), layout_text(x), layout_text(y),
                  a.kernel.height, a.kernel.width, a.stride.height, a.stride.width, a.padding.height,
                  a.padding.width, a.global ? " global" : "");
  lowering.emit(op, std::move(reads), std::move(writes), signature,
                [&] { return std::make_shared<Pooling>(op.kind, windows); });
}

}  // namespace vdnn::cuda
