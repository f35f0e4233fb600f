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

// `simulation` is the plan's.
PlanExplanation explain_plan(const Program& program, const Plan& plan, const Simulation& simulation);

}  // namespace vdnn
