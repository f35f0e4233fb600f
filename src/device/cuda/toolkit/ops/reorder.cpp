#include <fmt/format.h>

#include "device/cuda/toolkit/elements.h"
#include "device/cuda/toolkit/ops/ops.h"

namespace vdnn::cuda {
namespace {

class Reorder : public CudaKernel {
 public:
  Reorder(const Layout& from, const Layout& to) : from_(map_layout(from)), to_(map_layout(to)) {}

  void run(int, const Call& call) override {
    copy_channels({call.floats(0), from_, 0, call.floats(1), to_, 0, to_.channels}, call.stream);
  }

 private:
  MapLayout from_;
  MapLayout to_;
};

}  // namespace

void emit_reorder(Lowering& lowering, const TrainingOp& op, const View& from, const Layout& from_layout,
                  const View& to, const Layout& to_layout) {
  lowering.emit(op, {from}, {to},
                fmt::format("reorder {} {}", layout_text(from_layout), layout_text(to_layout)),
                [&] { return std::make_shared<Reorder>(from_layout, to_layout); });
}

}  // namespace vdnn::cuda
