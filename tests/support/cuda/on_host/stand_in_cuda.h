#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "device/cuda/toolkit/api.h"
#include "support/cuda/stand_in_runtime.h"

// The whole cuda device where there is no GPU: its lowering, ops and kernels as they are, compiled for the
// host, with stand-ins for what needs a GPU below them. CUDA's calls are queues on threads; cuDNN describes,
// chooses and refuses as it does for a GPU that it is told about, and its engines and cuBLASLt's are plain
// loops over what they were described.
namespace vdnn::testing {

// The runtime that every cuda device of the program is opened with.
const std::shared_ptr<StandInRuntime>& stand_in_runtime();

// The n-th call of this function of cuDNN or cuBLASLt from now on fails; 0: none does.
void fail_library_call(const std::string& function, std::int64_t n);
// How often each of them has been called.
std::map<std::string, std::int64_t> library_calls();
// Descriptors of cuDNN's graph interface that live, but for those of the GPU itself.
std::size_t descriptors_in_use();

// Ends the test: the library would not forgive it.
[[noreturn]] void misuse(const std::string& what);
inline void expect(bool true_of_call, const char* what) {
  if (!true_of_call) misuse(what);
}

// Runs on the stream.
void enqueue(cudaStream_t stream, std::function<void()> work);

// Replace what needs a GPU among the functions of the real libraries.
void stand_in_for_cudnn(cuda::Api& api);
void stand_in_for_cublas(cuda::Api& api);
// Puts a count of calls, and a way to fail, before each function that returns a status.
void make_failable(cuda::Api& api);

}  // namespace vdnn::testing
