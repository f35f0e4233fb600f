#pragma once

#include <map>
#include <string>

#include "device/cpu/kernel.h"
#include "device/cpu/layout.h"
#include "device/op_lowering.h"

namespace vdnn::cpu {

using Lowered = LoweredOps<Desc, CpuKernel>;

// Turns the ops of a training graph into kernels, buffers and code. Each op family has a function in a
// file of its own in ops/ that uses the members below and those of OpLowering.
class Lowering : public OpLowering<Desc, CpuKernel> {
 public:
  explicit Lowering(const TrainingGraph& graph);
  Lowered run();

  [[nodiscard]] std::int64_t block() const { return block_; }
  // The natural one; weights whose format an op has chosen have that.
  [[nodiscard]] Layout layout(TensorId tensor) const { return natural_layout(shape(tensor), block_); }
  void choose_format(TensorId tensor, const Desc& format);
  [[nodiscard]] Desc format(TensorId tensor) const override;
  [[nodiscard]] std::int64_t bytes_of(const Desc& format, DataType) const override {
    return static_cast<std::int64_t>(format.get_size());
  }

  // The tensor in row-major layout: itself, or a copy made by a reorder kernel that this emits once.
  View plain(TensorId tensor, const TrainingOp& op);
  // Emits the reorder of a row-major temporary into the tensor.
  void store_plain(const View& from, TensorId tensor, const TrainingOp& op);

 protected:
  [[nodiscard]] Desc row_major_format(const Shape& shape) const override { return plain_desc(shape); }

 private:
  // oneDNN's kernels count in 31 bits.
  void refuse_large_extents() const;

  std::int64_t block_;
  std::map<TensorId, Desc> chosen_formats_;
  std::map<TensorId, View> plain_copies_;
};

// Throws UnsupportedError with the op's name and the reason.
void lower_op(Lowering& lowering, const TrainingOp& op);

// "relu 32x64x14x14/16": part of a signature.
std::string layout_text(const Layout& layout);

}  // namespace vdnn::cpu
