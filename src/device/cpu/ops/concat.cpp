#include <fmt/format.h>

#include "device/cpu/ops/channel_copy.h"
#include "device/cpu/ops/ops.h"

namespace vdnn::cpu {
namespace {

// A convolution that wrote into a slice of a larger map would fall back to oneDNN's plain loops, so the
// parts are copied.
class Concat : public CpuKernel {
 public:
  Concat(bool joins, std::vector<Layout> parts, Layout whole)
      : joins_(joins), parts_(std::move(parts)), whole_(std::move(whole)) {}

  // Joining: parts -> whole. Splitting: whole -> parts.
  void run(int, const Call& call) override {
    std::int64_t channel = 0;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      const std::int64_t count = parts_[i].shape[1];
      if (joins_) {
        copy_channels(call.floats(i), parts_[i], 0, call.floats(parts_.size()), whole_, channel, count);
      } else {
        copy_channels(call.floats(0), whole_, channel, call.floats(i + 1), parts_[i], 0, count);
        clear_padding(call.floats(i + 1), parts_[i]);
      }
      channel += count;
    }
    if (joins_) clear_padding(call.floats(parts_.size()), whole_);
  }

 private:
  bool joins_;
  std::vector<Layout> parts_;
  Layout whole_;
};

void lower(Lowering& lowering, const TrainingOp& op, bool joins) {
  std::vector<Layout> parts;
  std::string signature{op_name(op.kind)};
  for (const auto id : joins ? op.inputs : op.outputs) {
    parts.push_back(lowering.layout(id));
    signature += fmt::format(" {}", layout_text(parts.back()));
  }
  const Layout whole = lowering.layout(joins ? op.outputs[0] : op.inputs[0]);
  lowering.emit_whole(op, signature, [&] { return std::make_shared<Concat>(joins, parts, whole); });
}

}  // namespace

void lower_concat(Lowering& lowering, const TrainingOp& op) {
  lower(lowering, op, true);
}
void lower_split(Lowering& lowering, const TrainingOp& op) {
  lower(lowering, op, false);
}

}  // namespace vdnn::cpu
