#pragma once

#include <string_view>

#include "device/cuda/runtime.h"

namespace vdnn::cuda {

// Throws DeviceError, "cudaMemcpyAsync: out of memory (...)", for anything but success, and clears the
// library's last error, so that no later call reports this one.
void check(Runtime& runtime, Status status, std::string_view call);

}  // namespace vdnn::cuda
