#pragma once

#include "vdnn/program.h"

namespace vdnn {

// A kernel by itself in memory: its buffers one behind the other, the workspace last.
struct KernelLayout {
  std::vector<std::int64_t> offsets_bytes;  // the arguments of a launch
  std::int64_t bytes = 0;                   // of it all: the kernel's working set
};
KernelLayout lay_out_alone(const Program& program, const Kernel& kernel, const Candidate& candidate);

}  // namespace vdnn
