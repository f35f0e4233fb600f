#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "device/cpu/onednn.h"
#include "vdnn/device.h"

namespace vdnn::cpu {

// What a launch passes: addresses of reads, writes and workspace, in this order.
struct Call {
  Runtime& runtime;
  std::span<std::byte* const> arguments;
  const StepScalars& scalars;

  [[nodiscard]] std::byte* bytes(std::size_t i) const { return arguments[i]; }
  [[nodiscard]] float* floats(std::size_t i) const { return reinterpret_cast<float*>(arguments[i]); }
};

// The code of a kernel: one small class per op family, shared by all kernels of a signature. Allocates
// nothing; what it needs while it runs is its workspace.
class CpuKernel {
 public:
  virtual ~CpuKernel() = default;
  // Ways to run it; the program's candidates.
  [[nodiscard]] virtual std::vector<Candidate> candidates() const { return {{.algorithm = "loops"}}; }
  virtual void run(int candidate, const Call& call) = 0;
};

// A primitive that is made when it is first run.
class LazyPrimitive {
 public:
  explicit LazyPrimitive(Primitive primitive) : primitive_(std::move(primitive)) {}

  [[nodiscard]] std::int64_t scratchpad_bytes() const { return primitive_.scratchpad_bytes; }
  void run(Runtime& runtime, std::initializer_list<Runtime::Argument> arguments, std::byte* scratchpad);

 private:
  Primitive primitive_;
  dnnl::primitive made_;
};

}  // namespace vdnn::cpu
