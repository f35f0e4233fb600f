#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <variant>

#include "device/reference/reference_kernels.h"

namespace vdnn::reference {

// One op to run: what run() was given.
struct Call {
  const TrainingOp& op;
  std::span<const Tensor> inputs;
  std::span<const Tensor> outputs;
  const StepScalars& scalars;

  template <class Attributes>
  [[nodiscard]] const Attributes& attributes() const {
    return std::get<Attributes>(op.attributes);
  }
  [[nodiscard]] const double* input(std::size_t i) const { return inputs[i].data; }
  [[nodiscard]] double* output(std::size_t i) const { return outputs[i].data; }
};

inline void fill_zero(const Tensor& tensor) {
  std::fill_n(tensor.data, tensor.shape.elements(), 0.0);
}

// A function per kind of op, in the file of its family.
void load_batch(const Call& call);
void convolution(const Call& call);
void convolution_backward_weights(const Call& call);
void convolution_backward_data(const Call& call);
void relu(const Call& call);
void relu_backward(const Call& call);
void max_pool(const Call& call);
void max_pool_backward(const Call& call);
void average_pool(const Call& call);
void average_pool_backward(const Call& call);
void lrn(const Call& call);
void lrn_backward(const Call& call);
void dropout(const Call& call);
void dropout_backward(const Call& call);
void fully_connected(const Call& call);
void fully_connected_backward_weights(const Call& call);
void fully_connected_backward_data(const Call& call);
void concat(const Call& call);
void split(const Call& call);
void add(const Call& call);
void batch_norm(const Call& call);
void batch_norm_statistics(const Call& call);
void batch_norm_backward(const Call& call);
void softmax_cross_entropy(const Call& call);
void softmax_cross_entropy_backward(const Call& call);
void sgd_update(const Call& call);

}  // namespace vdnn::reference
