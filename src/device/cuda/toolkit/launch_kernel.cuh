#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <string>
#include <type_traits>

#include "device/cuda/toolkit/libraries.h"

namespace vdnn::cuda {

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

}  // namespace vdnn::cuda
