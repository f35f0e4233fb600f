#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "device/cuda/toolkit/libraries.h"
#include "vdnn/device.h"

namespace vdnn::cuda {

// What a launch passes: device addresses of reads, writes and workspace, in this order.
struct Call {
  Libraries& libraries;
  cudaStream_t stream;
  std::span<std::byte* const> arguments;
  const StepScalars& scalars;

  [[nodiscard]] std::byte* bytes(std::size_t i) const { return arguments[i]; }
  [[nodiscard]] float* floats(std::size_t i) const { return reinterpret_cast<float*>(arguments[i]); }
  // Of a candidate that has one.
  [[nodiscard]] std::byte* workspace() const { return arguments.back(); }
};

// The code of a kernel: one small class per op family, shared by all kernels of a signature. It enqueues on
// the call's stream and returns; it allocates nothing and waits for nothing.
class CudaKernel {
 public:
  virtual ~CudaKernel() = default;
  // Ways to run it; the program's candidates. The first has the least workspace.
  [[nodiscard]] virtual std::vector<Candidate> candidates() const { return {{.algorithm = "cuda"}}; }
  // Throws DeviceError that names the call that failed and why; leaves no error behind in the library.
  virtual void run(int candidate, const Call& call) = 0;
};

}  // namespace vdnn::cuda
