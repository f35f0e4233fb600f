#pragma once

// Stands before the file of the same name in src/ where kernels are compiled for the host: what nvcc brings
// to the language, and launch() on the stand-in's streams.

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <type_traits>

#include "device/cuda/toolkit/libraries.h"
#include "support/cuda/on_host/kernel_grid.h"
#include "vdnn/error.h"

#undef __global__
#undef __device__
#undef __shared__
#undef __launch_bounds__
#define __global__
#define __device__
#define __shared__ static thread_local  // a processor runs a block at a time
#define __launch_bounds__(threads)
#define __syncthreads ::vdnn::testing::meet_block

namespace vdnn::cuda {

using testing::blockDim;
using testing::blockIdx;
using testing::gridDim;
using testing::threadIdx;

template <class... Parameters>
void launch(const char* name, void (*kernel)(Parameters...), std::int64_t blocks, unsigned threads,
            cudaStream_t stream, std::type_identity_t<Parameters>... arguments) {
  static_assert((std::is_trivially_copyable_v<Parameters> && ...));
  static_assert((sizeof(Parameters) + ... + 0) <= 4096, "more than a launch passes");
  if (blocks < 1 || blocks > INT32_MAX || threads < 1 || threads > 1024) {
    throw DeviceError(fmt::format("cudaLaunchKernel {}: {} blocks of {} threads", name, blocks, threads));
  }
  const auto code = [=] { kernel(arguments...); };
  testing::enqueue_grid({reinterpret_cast<const void*>(kernel), static_cast<unsigned>(blocks), threads, code},
                        stream);
}

}  // namespace vdnn::cuda
