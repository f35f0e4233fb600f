#include "device/cpu/lowering.h"

#include <fmt/format.h>

#include <limits>

#include "device/cpu/ops/reorder.h"
#include "program/granule.h"
#include "vdnn/error.h"

namespace vdnn::cpu {

std::string layout_text(const Layout& layout) {
  return layout.block == 0 ? layout.shape.text() : fmt::format("{}/{}", layout.shape.text(), layout.block);
}

Lowering::Lowering(const TrainingGraph& graph) : graph_(graph), block_(preferred_block()) {
  lowered_.program = {
      .name = graph.name, .device = "cpu", .layers = graph.layers, .network_wide = vdnn::network_wide(graph)};
  lowered_.tensors.resize(graph.tensors.size());
}

Lowered Lowering::run() {
  refuse_large_extents();
  for (const auto& op : graph_.ops) lower_op(*this, op);
  return std::move(lowered_);
}

void Lowering::refuse_large_extents() const {
  for (const auto& tensor : graph_.tensors) {
    for (const auto extent : tensor.shape.dims()) {
      if (extent <= std::numeric_limits<std::int32_t>::max()) continue;
      throw UnsupportedError(fmt::format("{} of {}: the cpu device counts extents in 31 bits", tensor.name,
                                         tensor.shape.text()));
    }
  }
}

View Lowering::add_buffer(Buffer buffer, const Desc& format, DataType type) {
  const View view{BufferId(lowered_.program.buffers.size()), 0, buffer.bytes};
  lowered_.program.buffers.push_back(granular(std::move(buffer)));
  lowered_.formats.push_back(format);
  lowered_.types.push_back(type);
  return view;
}

View Lowering::view(TensorId id, LayerId layer) {
  const TensorId root = graph_.storage[id.index()];
  if (const auto known = buffer_of_.find(root); known != buffer_of_.end()) {
    return {known->second, 0, lowered_.program.buffer(known->second).bytes};
  }
  const auto& tensor = graph_.tensor(root);
  const Desc desc = format(root);
  const View view = add_buffer({.name = tensor.name,
                                .role = tensor.role,
                                .bytes = static_cast<std::int64_t>(desc.get_size()),
                                .persistent = tensor.persistent,
                                .result = tensor.result,
                                .made_by = layer},
                               desc, tensor.type);
  buffer_of_[root] = view.buffer;
  lowered_.tensors[root.index()] = {{view.buffer, 0, tensor.shape.elements()}};
  return view;
}

void Lowering::choose_format(TensorId tensor, const Desc& format) {
  chosen_formats_[tensor] = format;
}

Desc Lowering::format(TensorId tensor) const {
  const auto chosen = chosen_formats_.find(tensor);
  return chosen != chosen_formats_.end() ? chosen->second : layout(tensor).desc();
}

View Lowering::opaque(TensorId id, LayerId layer, std::int64_t bytes) {
  if (const auto known = buffer_of_.find(id); known != buffer_of_.end()) return {known->second, 0, bytes};
  const auto& tensor = graph_.tensor(id);
  const View view = add_buffer(
      {.name = tensor.name, .role = tensor.role, .bytes = bytes, .saved_state = true, .made_by = layer},
      Desc(), tensor.type);
  buffer_of_[id] = view.buffer;
  return view;
}

View Lowering::temporary(TensorId like, const std::string& suffix, LayerId layer, const Layout& layout) {
  const auto& tensor = graph_.tensor(like);
  return add_buffer(
      {.name = tensor.name + suffix, .role = tensor.role, .bytes = layout.values() * 4, .made_by = layer},
      layout.desc(), DataType::float32);
}

View Lowering::piece(TensorId id, LayerId layer, std::int64_t first, std::int64_t count) {
  auto& pieces = lowered_.tensors[id.index()];
  for (const auto& bound : pieces) {
    if (bound.first == first) return {bound.buffer, 0, bound.count * 4};
  }
  const auto& tensor = graph_.tensor(id);
  const View view = add_buffer({.name = fmt::format("{}[{}]", tensor.name, pieces.size()),
                                .role = tensor.role,
                                .bytes = count * 4,
                                .persistent = tensor.persistent,
                                .made_by = layer},
                               plain_desc({count}), DataType::float32);
  pieces.push_back({view.buffer, first, count});
  return view;
}

View Lowering::plain(TensorId id, const TrainingOp& op) {
  const Layout from = layout(id);
  if (from.is_plain()) return view(id, op.layer);
  const TensorId root = graph_.storage[id.index()];
  if (const auto known = plain_copies_.find(root); known != plain_copies_.end()) return known->second;
  const Layout to{from.shape, 0};
  const View copy = temporary(id, "_plain", op.layer, to);
  emit_reorder(*this, op, view(id, op.layer), from, copy, to);
  plain_copies_[root] = copy;
  return copy;
}

void Lowering::store_plain(const View& from, TensorId id, const TrainingOp& op) {
  const Layout to = layout(id);
  emit_reorder(*this, op, from, {to.shape, 0}, view(id, op.layer), to);
}

void Lowering::emit(const TrainingOp& op, std::vector<View> reads, std::vector<View> writes,
                    const std::string& signature, const Make& make) {
  auto& code = code_of_[signature];
  if (!code) code = make();
  lowered_.program.kernels.push_back({.name = op.name,
                                      .op = signature.substr(0, signature.find(' ')),
                                      .layer = op.layer,
                                      .phase = op.phase,
                                      .reads = std::move(reads),
                                      .writes = std::move(writes),
                                      .candidates = code->candidates(),
                                      .signature = signature});
  lowered_.code.push_back(code);
}

}  // namespace vdnn::cpu
