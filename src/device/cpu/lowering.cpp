#include "device/cpu/lowering.h"

#include <fmt/format.h>

#include <limits>

#include "device/cpu/ops/reorder.h"
#include "vdnn/error.h"

namespace vdnn::cpu {

std::string layout_text(const Layout& layout) {
  return layout.block == 0 ? layout.shape.text() : fmt::format("{}/{}", layout.shape.text(), layout.block);
}

Lowering::Lowering(const TrainingGraph& graph) : OpLowering(graph, "cpu"), block_(preferred_block()) {}

Lowered Lowering::run() {
  refuse_large_extents();
  for (const auto& op : graph().ops) lower_op(*this, op);
  return take();
}

void Lowering::refuse_large_extents() const {
  for (const auto& tensor : graph().tensors) {
    for (const auto extent : tensor.shape.dims()) {
      if (extent <= std::numeric_limits<std::int32_t>::max()) continue;
      throw UnsupportedError(fmt::format("{} of {}: the cpu device counts extents in 31 bits", tensor.name,
                                         tensor.shape.text()));
    }
  }
}

void Lowering::choose_format(TensorId tensor, const Desc& format) {
  chosen_formats_[tensor] = format;
}

Desc Lowering::format(TensorId tensor) const {
  const auto chosen = chosen_formats_.find(tensor);
  return chosen != chosen_formats_.end() ? chosen->second : layout(tensor).desc();
}

View Lowering::plain(TensorId id, const TrainingOp& op) {
  const Layout from = layout(id);
  if (from.is_plain()) return view(id, op.layer);
  const TensorId root = graph().storage[id.index()];
  if (const auto known = plain_copies_.find(root); known != plain_copies_.end()) return known->second;
  const Layout to{from.shape, 0};
  const View copy = temporary(id, "_plain", op.layer, to.desc());
  emit_reorder(*this, op, view(id, op.layer), from, copy, to);
  plain_copies_[root] = copy;
  return copy;
}

void Lowering::store_plain(const View& from, TensorId id, const TrainingOp& op) {
  const Layout to = layout(id);
  emit_reorder(*this, op, from, {to.shape, 0}, view(id, op.layer), to);
}

}  // namespace vdnn::cpu
