#include "device/cuda/toolkit/lowering.h"

#include "device/cuda/toolkit/ops/ops.h"

namespace vdnn::cuda {

std::string layout_text(const Layout& layout) {
  return layout.shape.text() + (layout.channels_last ? " nhwc" : "");
}

Lowered Lowering::run() {
  for (const auto& op : graph().ops) lower_op(*this, op);
  return take();
}

Layout Lowering::layout(TensorId tensor) const {
  const bool image = shape(tensor).rank() == 4 && graph().storage[tensor.index()] != graph().staged_images;
  return {shape(tensor), image && libraries_.precision().tf32};
}

View Lowering::row_major(TensorId id, const TrainingOp& op) {
  const Layout from = layout(id);
  if (from.is_row_major()) return view(id, op.layer);
  const TensorId root = graph().storage[id.index()];
  if (const auto known = row_major_copies_.find(root); known != row_major_copies_.end()) return known->second;
  const Layout to{from.shape};
  const View copy = temporary(id, "_row_major", op.layer, to);
  emit_reorder(*this, op, view(id, op.layer), from, copy, to);
  row_major_copies_[root] = copy;
  return copy;
}

void Lowering::store_row_major(const View& from, TensorId id, const TrainingOp& op) {
  const Layout to = layout(id);
  emit_reorder(*this, op, from, {to.shape}, view(id, op.layer), to);
}

}  // namespace vdnn::cuda
