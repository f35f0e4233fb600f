#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <string>
#include <type_traits>

#include "device/cuda/toolkit/libraries.h"

namespace vdnn::cuda {

inline constexpr unsigned kBlockThreads = 256;
// Enough to fill any GPU many times over; kernels go through the rest by strides.
inline constexpr std::int64_t kMostBlocks = 1 << 16;

// Enqueues a kernel. Throws DeviceError, "cudaLaunchKernel NAME: ...", where it cannot be launched, and
// leaves no error behind; `name` outlives the call.
template <class... Parameters>
void launch(const char* name, void (*kernel)(Parameters...), std::int64_t blocks, unsigned threads,
            cudaStream_t stream, std::type_identity_t<Parameters>... arguments) {
  void* addresses[] = {&arguments...};
  // Unlike <<< >>>, the call returns its own error, so that none of other calls is taken for it.
  const cudaError_t status =
      cudaLaunchKernel(reinterpret_cast<const void*>(kernel), dim3(static_cast<unsigned>(blocks)),
                       dim3(threads), addresses, 0, stream);
  // check() is called for failures alone: launches are frequent, and the text is allocated.
  if (status != cudaSuccess) check(status, std::string("cudaLaunchKernel ") + name);
}

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
