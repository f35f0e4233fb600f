#pragma once

#include <string>
#include <vector>

#include "vdnn/plan.h"

namespace vdnn {

// What lies in memory at the peak, and why it is there.
struct PeakResident {
  std::string name;
  Role role = Role::workspace;
  std::int64_t bytes = 0;
  std::string why;
};

// A buffer's way down and back.
struct Trip {
  std::string buffer;
  std::int64_t bytes = 0;
  TierLevel tier = TierLevel::near;
  Interval offload_nanoseconds;
  Interval prefetch_nanoseconds;
  std::string leaves_with;  // the kernel that runs while it leaves; empty where it is dropped without a copy
  std::string needed_by;    // the kernel that waits for its return, or "the next step"
};

struct ExplainedAlgorithm {
  std::string kernel;
  std::string algorithm;
  std::int64_t workspace_bytes = 0;
  double seconds = 0;
  bool stepped_down = false;  // from a faster one, for want of memory
  std::string why;
};

struct PlanExplanation {
  std::string peak_kernel;                     // that runs at the peak of the live bytes
  std::vector<PeakResident> residents;         // then, largest first
  std::vector<Trip> trips;                     // in the order in which they leave
  std::vector<ExplainedAlgorithm> algorithms;  // of kernels with a choice
};

// What was decided for a buffer between two uses, and what else could have been.
struct BufferChoice {
  std::string buffer;
  Role role = Role::feature_map;
  std::int64_t bytes = 0;
  std::string used_by;  // the kernel before
  std::string next_used_by;
  std::string choice;  // "kept", "moved" or "recomputed"
  std::string why;
  std::string next_best;         // the cheapest of the other two that is possible; empty: none is
  double next_best_seconds = 0;  // that it would add to the step, as the planner estimates
  // By which keeping it would exceed the budget at the fullest moment meanwhile; 0: it would not.
  std::int64_t excess_if_kept_bytes = 0;
};

struct ChoiceExplanation {
  std::vector<BufferChoice> choices;  // of buffers of at least a hundredth of the peak, largest first
  // The buffers to shrink first: so that less memory would do, and so that this budget would cost less time.
  // Empty where none would help.
  std::string shrink_for_memory;
  std::string shrink_for_time;
};
ChoiceExplanation explain_choices(const Program& program, const Plan& plan, const Simulation& simulation,
                                  const Links& links);

// `simulation` is the plan's.
PlanExplanation explain_plan(const Program& program, const Plan& plan, const Simulation& simulation);

}  // namespace vdnn
