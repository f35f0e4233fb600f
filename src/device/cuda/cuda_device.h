#pragma once

#include <memory>

#include "vdnn/device.h"

namespace vdnn::cuda {

// A GPU, by its number. Throws UnsupportedError where vdnn was built without CUDA and DeviceError where
// driver or device are not there.
std::unique_ptr<Device> open_cuda_device(int number, const DeviceOptions& options);

}  // namespace vdnn::cuda
