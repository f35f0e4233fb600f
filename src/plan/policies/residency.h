#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "plan/policy.h"

namespace vdnn {

// Decides, for one limit of memory, which buffers are away between which of their uses and which kernels run
// with less workspace (docs/planner.md). Every buffer, whatever its role, has gaps between consecutive uses;
// what persists has one more, from its last use in a step to its first in the next.
//
// It starts from everything resident and the fastest kernels. While some kernel needs more than the limit, it
// takes the choice that relieves most bytes x kernels for a second of its cost; takes back what turned out
// not to be needed; and lets copies start earlier and memory go later wherever there is room.
class ResidencyPlanner {
 public:
  explicit ResidencyPlanner(const PlanProblem& problem);
  ~ResidencyPlanner();
  ResidencyPlanner(const ResidencyPlanner&) = delete;
  ResidencyPlanner& operator=(const ResidencyPlanner&) = delete;

  struct Result {
    Decisions decisions;
    std::vector<int> assignment;
  };
  // Where the limit cannot be held, as near to it as possible. `stall_seconds`: by buffer, what a simulation
  // of an earlier plan says kernels waited for its copies, on top of the cost of its absences.
  [[nodiscard]] Result plan(std::int64_t limit_bytes, const std::vector<double>& stall_seconds) const;

  // What the worst kernel needs with everything resident and the fastest kernels; and with everything away
  // that may be, and the least workspace.
  [[nodiscard]] std::int64_t most_bytes() const;
  [[nodiscard]] std::int64_t least_bytes() const;

 private:
  class Problem;
  class Search;
  std::unique_ptr<const Problem> problem_;
};

}  // namespace vdnn
