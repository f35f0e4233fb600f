#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "plan/policies/residency_problem.h"

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
  ResidencyPlanner(const PlanProblem& problem, Launches launches);
  ~ResidencyPlanner();
  ResidencyPlanner(const ResidencyPlanner&) = delete;
  ResidencyPlanner& operator=(const ResidencyPlanner&) = delete;

  struct Result {
    Decisions decisions;
    std::vector<int> assignment;
    // Where recomputing some buffers would be cheaper than copying them: the launches with those kernels once
    // more, to be planned for in turn. The decisions do without. Empty: nothing would.
    Launches with_recomputations;
  };
  struct Limits {
    std::int64_t needed_bytes = 0;       // of what must be resident
    std::int64_t ahead_bytes = 0;        // up to which copies in may be early and memory may go late
    double hidden_share = kHiddenShare;  // of a copy's time, that it costs though kernels hide it
    BufferId kept{};                     // stays resident where anything else will do
    BufferId copied{};                   // is not recomputed
  };
  // Where the limit cannot be held, as near to it as possible. `stall_seconds`: by buffer, what a simulation
  // of an earlier plan says kernels waited for its copies, on top of the cost of its absences.
  [[nodiscard]] Result plan(const Limits& limits, const std::vector<double>& stall_seconds) const;

  // What the worst kernel needs with everything resident and the fastest kernels; and with everything away
  // that may be, and the least workspace.
  [[nodiscard]] std::int64_t most_bytes() const;
  [[nodiscard]] std::int64_t least_bytes() const;

 private:
  class Search;
  std::unique_ptr<const ResidencyProblem> problem_;
};

}  // namespace vdnn
