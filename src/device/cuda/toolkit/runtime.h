#pragma once

#include <cuda_runtime_api.h>

#include <memory>

#include "device/cuda/runtime.h"

namespace vdnn::cuda {

// The CUDA runtime on a device, by its number. Throws DeviceError where driver or device are not there.
std::shared_ptr<Runtime> open_runtime(int device);

// What is behind a handle.
inline cudaStream_t native(Stream stream) {
  return reinterpret_cast<cudaStream_t>(stream);
}

}  // namespace vdnn::cuda
