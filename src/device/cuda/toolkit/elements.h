#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "device/cuda/elements/channel_copy.h"
#include "device/cuda/elements/dropout.h"
#include "device/cuda/elements/lrn.h"
#include "device/cuda/elements/pooling.h"
#include "device/cuda/elements/sgd.h"
#include "device/cuda/elements/softmax_cross_entropy.h"

// vdnn's own kernels. Pointers are device memory. Each function enqueues on the stream and returns; it throws
// DeviceError, naming the kernel, where that cannot be done, and leaves no error behind in the library.
namespace vdnn::cuda {

// Over [count] values. The result may be an operand.
void relu(const float* x, float* y, std::int64_t count, cudaStream_t stream);
void relu_backward(const float* dy, const float* y, float* dx, std::int64_t count, cudaStream_t stream);
void add(const float* a, const float* b, float* sum, std::int64_t count, cudaStream_t stream);

// Weight, and momentum where there is any, of [count] values in place.
void sgd_update(const SgdUpdate<float>& update, std::int64_t count, cudaStream_t stream);

// Forward and backward alike; y may be x.
void dropout(const Dropout<float>& dropout, cudaStream_t stream);

// The target overlaps with nothing that is read.
// Position is std::uint8_t, or std::int32_t for windows of more than 256 positions.
template <class Position>
void max_pool(const MaxPool<float, Position>& pool, cudaStream_t stream);
template <class Position>
void max_pool_backward(const MaxPoolBackward<float, Position>& pool, cudaStream_t stream);
void average_pool(const AveragePool<float>& pool, cudaStream_t stream);
void average_pool_backward(const AveragePoolBackward<float>& pool, cudaStream_t stream);
void lrn(const Lrn<float>& lrn, cudaStream_t stream);
void lrn_backward(const LrnBackward<float>& lrn, cudaStream_t stream);
void copy_channels(const ChannelCopy<float>& copy, cudaStream_t stream);

// rows.losses has a value per example and is overwritten; mean.losses is the same memory.
void softmax_cross_entropy(const SoftmaxRows<float>& rows, const MeanLoss<float>& mean, cudaStream_t stream);
void softmax_cross_entropy_backward(const SoftmaxCrossEntropyBackward<float>& backward, std::int64_t batch,
                                    cudaStream_t stream);

}  // namespace vdnn::cuda
