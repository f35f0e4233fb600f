#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "device/cuda/layout.h"

// A value per channel, added to a tensor of batch x channels [x height x width] in either layout, and its
// gradient. Pointers are device memory. The functions enqueue on the stream and return; they throw
// DeviceError where that cannot be done, and leave no error behind in the library.
namespace vdnn::cuda {

// y += bias, in place.
void add_bias(float* y, const float* bias, const Layout& y_layout, cudaStream_t stream);

// Device memory that a kernel may overwrite. None is enough, more keeps more of the GPU busy.
struct Scratch {
  float* values = nullptr;
  std::int64_t count = 0;
};

// dbias = sum of dy over all but the channels, in an order that depends on layout and scratch.count alone.
// The scratch overlaps with neither.
void sum_bias_gradient(float* dbias, const float* dy, const Layout& dy_layout, const Scratch& scratch,
                       cudaStream_t stream);

}  // namespace vdnn::cuda
