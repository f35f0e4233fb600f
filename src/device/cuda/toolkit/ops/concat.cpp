#include <fmt/format.h>

#include "device/cuda/toolkit/elements.h"
#include "device/cuda/toolkit/ops/ops.h"

namespace vdnn::cuda {
namespace {

// Parts and whole have their own buffers, which a policy moves one by one; so the parts are copied.
class Concat : public CudaKernel {
 public:
  Concat(bool joins, std::vector<MapLayout> parts, const MapLayout& whole)
      : joins_(joins), parts_(std::move(parts)), whole_(whole) {}

  // Joining: parts -> whole. Splitting: whole -> parts.
  void run(int, const Call& call) override {
    std::int64_t channel = 0;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      const MapLayout& part = parts_[i];
      if (joins_) {
        copy_channels({call.floats(i), part, 0, call.floats(parts_.size()), whole_, channel, part.channels},
                      call.stream);
      } else {
        copy_channels({call.floats(0), whole_, channel, call.floats(i + 1), part, 0, part.channels},
                      call.stream);
      }
      channel += part.channels;
    }
  }

 private:
  bool joins_;
  std::vector<MapLayout> parts_;
  MapLayout whole_;
};

void lower(Lowering& lowering, const TrainingOp& op, bool joins) {
  std::vector<MapLayout> parts;
  std::string signature{op_name(op.kind)};
  for (const auto id : joins ? op.inputs : op.outputs) {
    const Layout part = lowering.layout(id);
    parts.push_back(map_layout(part));
    signature += fmt::format(" {}", layout_text(part));
  }
  const MapLayout whole = map_layout(lowering.layout(joins ? op.outputs[0] : op.inputs[0]));
  lowering.emit_whole(op, signature, [&] { return std::make_shared<Concat>(joins, parts, whole); });
}

}  // namespace

void lower_concat(Lowering& lowering, const TrainingOp& op) {
  lower(lowering, op, true);
}
void lower_split(Lowering& lowering, const TrainingOp& op) {
  lower(lowering, op, false);
}

}  // namespace vdnn::cuda
