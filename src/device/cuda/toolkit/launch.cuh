#pragma once

#include <cstdint>
#include <type_traits>

#include "device/cuda/toolkit/launch_kernel.cuh"

namespace vdnn::cuda {

inline constexpr unsigned kBlockThreads = 256;
// Enough to fill any GPU many times over; kernels go through the rest by strides.
inline constexpr std::int64_t kMostBlocks = 1 << 16;

template <class Element>
__global__ void __launch_bounds__(kBlockThreads) each_element(Element element, std::int64_t count) {
  const std::int64_t step = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) element(i);
}

// Enqueues element(i) for every i in [0, count), in any order. Errors as launch().
template <class Element>
void launch_elements(const char* name, const Element& element, std::int64_t count, cudaStream_t stream) {
  static_assert(std::is_trivially_copyable_v<Element>);
  if (count <= 0) return;  // a grid of no blocks is an error
  const std::int64_t blocks = (count - 1) / kBlockThreads + 1;
  launch(name, each_element<Element>, blocks < kMostBlocks ? blocks : kMostBlocks, kBlockThreads, stream,
         element, count);
}

}  // namespace vdnn::cuda
