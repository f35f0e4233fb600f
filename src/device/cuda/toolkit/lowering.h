#pragma once

#include <map>
#include <string>

#include "device/cuda/layout.h"
#include "device/cuda/toolkit/kernel.h"
#include "device/op_lowering.h"

namespace vdnn::cuda {

using Lowered = LoweredOps<Layout, CudaKernel>;

// Turns the ops of a training graph into kernels, buffers and code. Each op family has a function in a file
// of its own in ops/ that uses the members below and those of OpLowering. Needs a device: libraries are asked
// for their algorithms.
class Lowering : public OpLowering<Layout, CudaKernel> {
 public:
  Lowering(const TrainingGraph& graph, Libraries& libraries)
      : OpLowering(graph, "cuda"), libraries_(libraries) {}
  Lowered run();

  [[nodiscard]] Libraries& libraries() { return libraries_; }
  // A function of the shape alone, so that producers and consumers agree without asking: images and filters
  // have their channels innermost where TF32 is allowed, whose units want that, everything else is row-major.
  // The staged batch is always row-major.
  [[nodiscard]] Layout layout(TensorId tensor) const;
  [[nodiscard]] Layout format(TensorId tensor) const override { return layout(tensor); }
  [[nodiscard]] std::int64_t bytes_of(const Layout& layout, DataType type) const override {
    return layout.values() * size_bytes(type);
  }

  // The tensor in row-major layout: itself, or a copy made by a reorder kernel that this emits once.
  View row_major(TensorId tensor, const TrainingOp& op);
  // Emits the reorder of a row-major temporary into the tensor.
  void store_row_major(const View& from, TensorId tensor, const TrainingOp& op);

 protected:
  [[nodiscard]] Layout row_major_format(const Shape& shape) const override { return {shape}; }

 private:
  Libraries& libraries_;
  std::map<TensorId, View> row_major_copies_;
};

// "32x64x14x14" or "32x64x14x14 nhwc": part of a signature.
std::string layout_text(const Layout& layout);

}  // namespace vdnn::cuda
