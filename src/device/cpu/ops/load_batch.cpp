#include <fmt/format.h>

#include <cstring>

#include "device/cpu/ops/channel_copy.h"
#include "device/cpu/ops/ops.h"

namespace vdnn::cpu {
namespace {

// Takes the staged batch over, so that the next one can be staged while this one is trained on.
class LoadBatch : public CpuKernel {
 public:
  explicit LoadBatch(Layout images) : images_(std::move(images)) {}

  void run(int, const Call& call) override {
    const Layout staged{images_.shape, 0};
    copy_channels(call.floats(0), staged, 0, call.floats(2), images_, 0, images_.shape[1]);
    clear_padding(call.floats(2), images_);
    std::memcpy(call.bytes(3), call.bytes(1),
                static_cast<std::size_t>(images_.shape[0]) * sizeof(std::int32_t));
  }

 private:
  Layout images_;
};

}  // namespace

void lower_load_batch(Lowering& lowering, const TrainingOp& op) {
  const Layout images = lowering.layout(op.outputs[0]);
  lowering.choose_format(op.inputs[0], plain_desc(images.shape));
  lowering.emit_whole(op, fmt::format("load_batch {}", layout_text(images)),
                      [&] { return std::make_shared<LoadBatch>(images); });
}

}  // namespace vdnn::cpu
