#include <algorithm>
#include <cmath>
#include <map>

#include "vdnn/plan.h"

namespace vdnn {
namespace {

std::int64_t nanoseconds(double seconds) {
  return std::llround(seconds * 1e9);
}

struct Memory {
  std::int64_t live_bytes = 0;
  std::array<std::int64_t, kRoleCount> by_role{};
};

}  // namespace

double Simulation::hidden_copy_share() const {
  return copy_seconds > 0 ? std::clamp(1 - stall_seconds / copy_seconds, 0.0, 1.0) : 1.0;
}

namespace {

void run_clock(const Program& program, const Plan& plan, const Links& links, Simulation& result) {
  std::array<std::int64_t, 3> free_at{};
  std::int64_t stall = 0;
  std::int64_t copying = 0;
  std::int64_t computing = 0;
  for (const auto& step : plan.steps) {
    const auto stream = static_cast<std::size_t>(step.kind);
    std::int64_t start = free_at[stream];
    for (const auto wait : step.waits) {
      start = std::max(start, result.step_nanoseconds[static_cast<std::size_t>(wait)].end);
    }
    std::int64_t duration = 0;
    if (step.kind == StepKind::launch) {
      const auto candidate = static_cast<std::size_t>(plan.assignment[step.kernel.index()]);
      duration = nanoseconds(program.kernel(step.kernel).candidates[candidate].seconds);
      stall += start - free_at[stream];
      computing += duration;
    } else {
      const bool out = step.kind == StepKind::offload;
      const std::int64_t bytes = program.buffer(step.buffer).placed_bytes();
      duration = nanoseconds(static_cast<double>(bytes) /
                             (out ? links.offload_bytes_per_s : links.prefetch_bytes_per_s));
      copying += duration;
      (out ? result.offloaded_bytes : result.prefetched_bytes) += bytes;
    }
    free_at[stream] = start + duration;
    result.step_nanoseconds.push_back({start, start + duration});
  }
  result.step_seconds = static_cast<double>(*std::max_element(free_at.begin(), free_at.end())) * 1e-9;
  result.kernel_seconds = static_cast<double>(computing) * 1e-9;
  result.stall_seconds = static_cast<double>(stall) * 1e-9;
  result.copy_seconds = static_cast<double>(copying) * 1e-9;
}

void find_peaks(const Program& program, const Plan& plan, Simulation& result) {
  std::vector<Memory> change(plan.steps.size() + 1);
  for (const auto& placement : plan.placements) {
    const Role role = placement.buffer.valid() ? program.buffer(placement.buffer).role : Role::workspace;
    result.peak_bytes = std::max(result.peak_bytes, placement.offset_bytes + placement.bytes);
    for (const auto& [at, sign] : {std::pair{placement.steps.begin, 1}, std::pair{placement.steps.end, -1}}) {
      auto& memory = change[static_cast<std::size_t>(at)];
      memory.live_bytes += sign * placement.bytes;
      memory.by_role[static_cast<std::size_t>(role)] += sign * placement.bytes;
    }
  }
  Memory now;
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    now.live_bytes += change[s].live_bytes;
    for (std::size_t r = 0; r < kRoleCount; ++r) now.by_role[r] += change[s].by_role[r];
    if (now.live_bytes > result.peak_live_bytes) {
      result.peak_live_bytes = now.live_bytes;
      result.peak_bytes_by_role = now.by_role;
    }
  }
}

// A stay takes memory from the start of its first step to the end of its last launch, or of its offload where
// that ends later. Where kernels were not measured, every step takes the same time.
double average_live_bytes(const Plan& plan, const Simulation& simulation) {
  std::vector<Interval> times = simulation.step_nanoseconds;
  std::int64_t end = nanoseconds(simulation.step_seconds);
  if (end == 0) {
    end = std::ssize(plan.steps);
    for (std::int64_t s = 0; s < end; ++s) times[static_cast<std::size_t>(s)] = {s, s + 1};
  }
  std::vector<std::int64_t> launched_until(plan.steps.size() + 1, 0);  // by all launches before a step
  std::map<BufferId, std::vector<std::size_t>> offloads;
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    const PlanStep& step = plan.steps[s];
    launched_until[s + 1] = step.kind == StepKind::launch ? times[s].end : launched_until[s];
    if (step.kind == StepKind::offload) offloads[step.buffer].push_back(s);
  }
  double weighted = 0;
  for (const auto& placement : plan.placements) {
    const Interval& stay = placement.steps;
    const std::int64_t begin = stay.begin == 0 ? 0 : times[static_cast<std::size_t>(stay.begin)].begin;
    std::int64_t release =
        stay.end == std::ssize(plan.steps) ? end : launched_until[static_cast<std::size_t>(stay.end)];
    for (const auto offload : offloads[placement.buffer]) {
      if (stay.contains(static_cast<std::int64_t>(offload))) release = std::max(release, times[offload].end);
    }
    weighted += static_cast<double>(placement.bytes) * static_cast<double>(release - begin);
  }
  return weighted / static_cast<double>(std::max<std::int64_t>(1, end));
}

}  // namespace

Simulation simulate(const Program& program, const Plan& plan, const Links& links) {
  Simulation result;
  run_clock(program, plan, links, result);
  find_peaks(program, plan, result);
  result.average_live_bytes = average_live_bytes(plan, result);
  return result;
}

}  // namespace vdnn
