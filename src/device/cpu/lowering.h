#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "device/cpu/kernel.h"
#include "device/cpu/layout.h"
#include "vdnn/training_graph.h"

namespace vdnn::cpu {

// What lowering leaves behind for running: code per kernel, formats of weights, places of tensors.
struct Lowered {
  Program program;
  std::vector<std::shared_ptr<CpuKernel>> code;   // by kernel
  std::vector<std::vector<BoundTensor>> tensors;  // by storage root
  std::vector<Desc> formats;                      // by buffer; a null one for what only kernels understand
  std::vector<DataType> types;                    // by buffer
};

// Turns the ops of a training graph into kernels, buffers and code. Each op family has a function in a
// file of its own in ops/ that uses the members below.
class Lowering {
 public:
  explicit Lowering(const TrainingGraph& graph);
  Lowered run();

  [[nodiscard]] const TrainingGraph& graph() const { return graph_; }
  [[nodiscard]] std::int64_t block() const { return block_; }
  [[nodiscard]] const Shape& shape(TensorId tensor) const { return graph_.tensor(tensor).shape; }
  [[nodiscard]] Layout layout(TensorId tensor) const { return natural_layout(shape(tensor), block_); }

  // The whole buffer of a tensor, made on first use: in its natural layout, or, for weights whose format
  // an op has chosen, in that.
  View view(TensorId tensor, LayerId layer);
  void choose_format(TensorId tensor, const Desc& format);
  [[nodiscard]] Desc format(TensorId tensor) const;
  // Saved state of a size that only the kernels know.
  View opaque(TensorId tensor, LayerId layer, std::int64_t bytes);
  // A buffer of lowering's own; `like` gives role and name.
  View temporary(TensorId like, const std::string& suffix, LayerId layer, const Layout& layout);
  // A piece [first, first + count) of a row-major tensor that is kept in several buffers.
  View piece(TensorId tensor, LayerId layer, std::int64_t first, std::int64_t count);

  // The tensor in row-major layout: itself, or a copy made by a reorder kernel that this emits once.
  View plain(TensorId tensor, const TrainingOp& op);
  // Emits the reorder of a row-major temporary into the tensor.
  void store_plain(const View& from, TensorId tensor, const TrainingOp& op);

  // Adds a kernel; `make` is called only for the first kernel of a signature.
  using Make = std::function<std::shared_ptr<CpuKernel>()>;
  void emit(const TrainingOp& op, std::vector<View> reads, std::vector<View> writes,
            const std::string& signature, const Make& make);

 private:
  // oneDNN's kernels count in 31 bits.
  void refuse_large_extents() const;
  View add_buffer(Buffer buffer, const Desc& format, DataType type);

  const TrainingGraph& graph_;
  std::int64_t block_;
  Lowered lowered_;
  std::map<TensorId, BufferId> buffer_of_;  // by storage root
  std::map<TensorId, Desc> chosen_formats_;
  std::map<TensorId, View> plain_copies_;
  std::map<std::string, std::shared_ptr<CpuKernel>> code_of_;  // by signature
};

// Throws UnsupportedError with the op's name and the reason.
void lower_op(Lowering& lowering, const TrainingOp& op);

// "relu 32x64x14x14/16": part of a signature.
std::string layout_text(const Layout& layout);

}  // namespace vdnn::cpu
