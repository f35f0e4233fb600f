#include <fmt/format.h>

#include "device/cuda/toolkit/elements.h"
#include "device/cuda/toolkit/ops/ops.h"

namespace vdnn::cuda {
namespace {

// Takes the staged batch over, so that the next one can be staged while this one is trained on.
class LoadBatch : public CudaKernel {
 public:
  LoadBatch(const Layout& staged, const Layout& images)
      : staged_(map_layout(staged)), images_(map_layout(images)) {}

  // Staged images, staged labels -> images, labels.
  void run(int, const Call& call) override {
    copy_channels({call.floats(0), staged_, 0, call.floats(2), images_, 0, images_.channels}, call.stream);
    check(cudaMemcpyAsync(call.bytes(3), call.bytes(1),
                          static_cast<std::size_t>(images_.images) * sizeof(std::int32_t),
                          cudaMemcpyDeviceToDevice, call.stream),
          "cudaMemcpyAsync");
  }

 private:
  MapLayout staged_;
  MapLayout images_;
};

}  // namespace

void lower_load_batch(Lowering& lowering, const TrainingOp& op) {
  const Layout staged = lowering.layout(op.inputs[0]);
  const Layout images = lowering.layout(op.outputs[0]);
  lowering.emit_whole(op, fmt::format("load_batch {}", layout_text(images)),
                      [&] { return std::make_shared<LoadBatch>(staged, images); });
}

}  // namespace vdnn::cuda
