#pragma once

#include <cstdint>

#include "vdnn/links.h"
#include "vdnn/program.h"

namespace vdnn {

// No plan of the program needs less memory: the largest working set of a kernel in its leanest candidate, and
// beside it the staged batch, which is filled while the step runs.
std::int64_t least_memory_bound_bytes(const Program& program);

// No plan of the program takes less time than this in a step, within a budget (docs/planner.md has the
// proof).
struct TimeBound {
  double compute_seconds = 0;   // every kernel once, at its fastest that fits
  double transfer_seconds = 0;  // what cannot stay at the fullest kernel comes back, copied or recomputed
  KernelId kernel;              // the fullest kernel; not valid where all can stay

  [[nodiscard]] double seconds() const {
    return compute_seconds > transfer_seconds ? compute_seconds : transfer_seconds;
  }
};
TimeBound time_bound(const Program& program, std::int64_t budget_bytes, const Links& links);

}  // namespace vdnn
