#pragma once

#include <cstdint>
#include <vector>

#include "vdnn/program.h"

namespace vdnn {

// The value that a kernel must find in a buffer, or leave there: how many kernels of the program have written
// the buffer up to then. A kernel that is launched again finds and leaves the same ones as the first time.
struct VersionedAccess {
  BufferId buffer;
  std::int64_t version = 0;
};

struct KernelVersions {
  std::vector<VersionedAccess> reads;
  std::vector<VersionedAccess> writes;  // the version left behind
};

struct ProgramVersions {
  std::vector<KernelVersions> of_kernel;
  std::vector<std::int64_t> last;  // of each buffer, when the step is over
};
ProgramVersions find_versions(const Program& program);

}  // namespace vdnn
