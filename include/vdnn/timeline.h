#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "vdnn/plan.h"

namespace vdnn {

// What the steps of a plan did, when: by step, in nanoseconds from the start of the training step. A
// simulation (Simulation::step_nanoseconds) and a run (Session::last_step) both give one.
using StepTimes = std::vector<Interval>;

// When each placement takes memory: from the start of its first step to the end of its last launch, or of its
// offload where that ends later.
std::vector<Interval> placement_nanoseconds(const Plan& plan, const StepTimes& times);

// Live bytes by role from a moment on.
struct MemorySample {
  std::int64_t nanoseconds = 0;
  std::array<std::int64_t, kRoleCount> bytes{};
};

// In order of time, one for each moment at which something changes; the first at zero.
std::vector<MemorySample> memory_over_time(const Program& program, const Plan& plan, const StepTimes& times);

// A stream that stands still because a step on another has not ended.
struct StreamWait {
  Interval nanoseconds;
  std::size_t step = 0;  // of the plan, which waits
  std::size_t on = 0;    // the step that ends last of those it waits for
};
std::vector<StreamWait> stream_waits(const Plan& plan, const StepTimes& times);

// What kernels waited for the copies of each buffer; only buffers that they waited for.
std::map<BufferId, double> seconds_waited_for_copies(const Plan& plan, const StepTimes& times);

// "conv1_2 forward".
std::string kernel_name(const Program& program, KernelId kernel);

// "conv1_2 forward", "offload conv1_1", "far prefetch conv1_1".
std::string step_name(const Program& program, const PlanStep& step);

}  // namespace vdnn
