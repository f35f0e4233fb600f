#pragma once

#include <cuda_runtime_api.h>

#include <functional>
#include <memory>

#include "device/cuda/toolkit/api.h"
#include "support/cuda/stand_in_runtime.h"

// The whole cuda device where there is no GPU: its lowering, ops and kernels as they are, compiled for the
// host, with stand-ins for what needs a GPU below them. CUDA's calls are queues on threads; cuDNN describes,
// chooses and refuses as it does for a GPU that it is told about, and its engines and cuBLASLt's are plain
// loops over what they were described.
namespace vdnn::testing {

// The runtime that every cuda device of the program is opened with.
const std::shared_ptr<StandInRuntime>& stand_in_runtime();

// Runs on the stream.
void enqueue(cudaStream_t stream, std::function<void()> work);

// Replace what needs a GPU among the functions of the real libraries.
void stand_in_for_cudnn(cuda::Api& api);
void stand_in_for_cublas(cuda::Api& api);

}  // namespace vdnn::testing
