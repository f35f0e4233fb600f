#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "program/granule.h"
#include "vdnn/bytes.h"
#include "vdnn/device.h"

namespace vdnn {

// What lowering leaves behind for running. `Format` says how a buffer's values lie, `Code` runs a kernel.
template <class Format, class Code>
struct LoweredOps {
  Program program;
  std::vector<std::shared_ptr<Code>> code;        // by kernel
  std::vector<std::vector<BoundTensor>> tensors;  // by storage root
  std::vector<Format> formats;                    // by buffer; an empty one for what only kernels understand
  std::vector<DataType> types;                    // by buffer
};

// Rows of a fully connected weight [outputs x inputs] that are learned together: at most 64 MiB, so that a
// large weight never needs its whole gradient and optimizer state at once.
inline std::int64_t rows_per_slice(std::int64_t outputs, std::int64_t inputs) {
  return std::clamp<std::int64_t>(64 * kMiB / (inputs * 4), 1, outputs);
}

// Turns the ops of a training graph into kernels, buffers and code: what backends with formats of their own
// share. `Code` has candidates().
template <class Format, class Code>
class OpLowering {
 public:
  OpLowering(const TrainingGraph& graph, const std::string& device) : graph_(graph) {
    lowered_.program = {.name = graph.name,
                        .device = device,
                        .layers = graph.layers,
                        .network_wide = vdnn::network_wide(graph)};
    lowered_.tensors.resize(graph.tensors.size());
  }
  virtual ~OpLowering() = default;
  OpLowering(const OpLowering&) = delete;
  OpLowering& operator=(const OpLowering&) = delete;

  [[nodiscard]] const TrainingGraph& graph() const { return graph_; }
  [[nodiscard]] const Shape& shape(TensorId tensor) const { return graph_.tensor(tensor).shape; }
  // How a tensor lies, and the bytes that it takes so.
  [[nodiscard]] virtual Format format(TensorId tensor) const = 0;
  [[nodiscard]] virtual std::int64_t bytes_of(const Format& format, DataType type) const = 0;

  // The whole buffer of a tensor, made on first use.
  View view(TensorId id, LayerId layer) {
    const TensorId root = graph_.storage[id.index()];
    if (const auto known = buffer_of_.find(root); known != buffer_of_.end()) {
      return {known->second, 0, lowered_.program.buffer(known->second).bytes};
    }
    const auto& tensor = graph_.tensor(root);
    const Format lies = format(root);
    const View view = add_buffer({.name = tensor.name,
                                  .role = tensor.role,
                                  .bytes = bytes_of(lies, tensor.type),
                                  .persistent = tensor.persistent,
                                  .result = tensor.result,
                                  .made_by = layer},
                                 lies, tensor.type);
    buffer_of_[root] = view.buffer;
    lowered_.tensors[root.index()] = {{view.buffer, 0, tensor.shape.elements()}};
    return view;
  }

  std::vector<View> views(std::span<const TensorId> tensors, LayerId layer) {
    std::vector<View> all;
    for (const auto id : tensors) all.push_back(view(id, layer));
    return all;
  }

  // Saved state of a size that only the kernels know.
  View opaque(TensorId id, LayerId layer, std::int64_t bytes) {
    if (const auto known = buffer_of_.find(id); known != buffer_of_.end()) return {known->second, 0, bytes};
    const auto& tensor = graph_.tensor(id);
    const View view = add_buffer(
        {.name = tensor.name, .role = tensor.role, .bytes = bytes, .saved_state = true, .made_by = layer},
        Format{}, tensor.type);
    buffer_of_[id] = view.buffer;
    return view;
  }

  // A float32 buffer of lowering's own; `like` gives role and name.
  View temporary(TensorId like, const std::string& suffix, LayerId layer, const Format& lies) {
    const auto& tensor = graph_.tensor(like);
    return add_buffer({.name = tensor.name + suffix,
                       .role = tensor.role,
                       .bytes = bytes_of(lies, DataType::float32),
                       .made_by = layer},
                      lies, DataType::float32);
  }

  // A piece [first, first + count) of a row-major tensor that is kept in several buffers.
  View piece(TensorId id, LayerId layer, std::int64_t first, std::int64_t count) {
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
                                 row_major_format({count}), DataType::float32);
    pieces.push_back({view.buffer, first, count});
    return view;
  }

  // Adds a kernel; `make` is called only for the first kernel of a signature.
  using Make = std::function<std::shared_ptr<Code>()>;
  void emit(const TrainingOp& op, std::vector<View>&& reads, std::vector<View>&& writes,
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

  // The same for an op that reads and writes whole tensors.
  void emit_whole(const TrainingOp& op, const std::string& signature, const Make& make) {
    auto reads = views(op.inputs, op.layer);
    auto writes = views(op.outputs, op.layer);
    emit(op, std::move(reads), std::move(writes), signature, make);
  }

  // The same for an op that makes each value of its output from those at the same place of its inputs;
  // make(count) for so many values.
  template <class MakeOf>
  void emit_elementwise(const TrainingOp& op, const MakeOf& make) {
    auto reads = views(op.inputs, op.layer);
    const View y = view(op.outputs[0], op.layer);
    const std::int64_t count = y.bytes / 4;
    emit(op, std::move(reads), {y}, fmt::format("{} {}", op_name(op.kind), count),
         [&] { return make(count); });
  }

  // An update of a weight, or of a part of one, and of the optimizer state of that; make(attributes, with
  // momentum, count).
  template <class MakeOf>
  void emit_update(const TrainingOp& op, const View& gradient, const View& weight,
                   const std::vector<View>& state, const MakeOf& make) {
    std::vector<View> reads = {gradient, weight};
    std::vector<View> writes = {weight};
    reads.insert(reads.end(), state.begin(), state.end());
    writes.insert(writes.end(), state.begin(), state.end());
    const auto& a = std::get<SgdAttributes>(op.attributes);
    const std::int64_t count = weight.bytes / 4;
    emit(op, std::move(reads), std::move(writes),
         fmt::format("sgd_update {} {} {} {}", count, a.momentum, a.weight_decay, state.size()),
         [&] { return make(a, !state.empty(), count); });
  }

  // The update of a fully connected weight that is learned in slices: for each, gradient(op of the gradient,
  // first row, rows), then update(gradient, weight, optimizer state). False where it is learned whole.
  template <class Gradient, class Update>
  bool lower_sliced_update(const TrainingOp& op, const Gradient& gradient, const Update& update) {
    const Shape& rows_by_columns = shape(op.inputs[1]);
    if (rows_by_columns.rank() != 2) return false;
    const std::int64_t all_rows = rows_by_columns[0];
    const std::int64_t columns = rows_by_columns[1];
    const std::int64_t slice = rows_per_slice(all_rows, columns);
    if (slice == all_rows) return false;
    const View weight = view(op.inputs[1], op.layer);
    const auto& ops = graph_.ops;
    const auto made_by = std::find_if(ops.begin(), ops.end(), [&](const TrainingOp& other) {
      return other.kind == OpKind::fully_connected_backward_weights && other.outputs[0] == op.inputs[0];
    });
    for (std::int64_t row = 0; row < all_rows; row += slice) {
      const std::int64_t rows = std::min(slice, all_rows - row);
      gradient(*made_by, row, rows);
      std::vector<View> state;
      for (std::size_t i = 2; i < op.inputs.size(); ++i)
        state.push_back(piece(op.inputs[i], op.layer, row * columns, rows * columns));
      update(piece(op.inputs[0], op.layer, row * columns, rows * columns),
             View{weight.buffer, row * columns * 4, rows * columns * 4}, state);
    }
    return true;
  }

 protected:
  [[nodiscard]] virtual Format row_major_format(const Shape& shape) const = 0;

  View add_buffer(Buffer buffer, const Format& lies, DataType type) {
    const View view{BufferId(lowered_.program.buffers.size()), 0, buffer.bytes};
    lowered_.program.buffers.push_back(granular(std::move(buffer)));
    lowered_.formats.push_back(lies);
    lowered_.types.push_back(type);
    return view;
  }
  LoweredOps<Format, Code> take() { return std::move(lowered_); }

 private:
  const TrainingGraph& graph_;
  LoweredOps<Format, Code> lowered_;
  std::map<TensorId, BufferId> buffer_of_;                // by storage root
  std::map<std::string, std::shared_ptr<Code>> code_of_;  // by signature
};

}  // namespace vdnn
