#include "vdnn/timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

namespace vdnn {

std::vector<Interval> placement_nanoseconds(const Plan& plan, const StepTimes& times) {
  std::int64_t end = 0;
  std::vector<std::int64_t> launched_until(plan.steps.size() + 1, 0);  // by all launches before a step
  std::map<BufferId, std::vector<std::size_t>> offloads;
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    const PlanStep& step = plan.steps[s];
    launched_until[s + 1] = step.kind == StepKind::launch ? times[s].end : launched_until[s];
    if (step.kind == StepKind::offload) offloads[step.buffer].push_back(s);
    end = std::max(end, times[s].end);
  }
  std::vector<Interval> all;
  all.reserve(plan.placements.size());
  for (const auto& placement : plan.placements) {
    const Interval& stay = placement.steps;
    const std::int64_t begin = stay.begin == 0 ? 0 : times[static_cast<std::size_t>(stay.begin)].begin;
    std::int64_t release =
        stay.end == std::ssize(plan.steps) ? end : launched_until[static_cast<std::size_t>(stay.end)];
    for (const auto offload : offloads[placement.buffer]) {
      if (stay.contains(static_cast<std::int64_t>(offload))) release = std::max(release, times[offload].end);
    }
    all.push_back({begin, std::max(begin, release)});
  }
  return all;
}

std::vector<MemorySample> memory_over_time(const Program& program, const Plan& plan, const StepTimes& times) {
  std::map<std::int64_t, std::array<std::int64_t, kRoleCount>> changes;
  changes[0];
  const std::vector<Interval> stays = placement_nanoseconds(plan, times);
  for (std::size_t i = 0; i < stays.size(); ++i) {
    const Placement& placement = plan.placements[i];
    const Role role = placement.buffer.valid() ? program.buffer(placement.buffer).role : Role::workspace;
    changes[stays[i].begin][static_cast<std::size_t>(role)] += placement.bytes;
    changes[stays[i].end][static_cast<std::size_t>(role)] -= placement.bytes;
  }
  std::vector<MemorySample> samples;
  MemorySample now;
  for (const auto& [at, change] : changes) {
    now.nanoseconds = at;
    for (std::size_t role = 0; role < kRoleCount; ++role) now.bytes[role] += change[role];
    samples.push_back(now);
  }
  return samples;
}

std::vector<StreamWait> stream_waits(const Plan& plan, const StepTimes& times) {
  std::vector<StreamWait> waits;
  std::array<std::int64_t, kStreamCount> idle_since{};
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    const PlanStep& step = plan.steps[s];
    const std::int64_t idle = std::exchange(idle_since[index_of(step.stream())], times[s].end);
    if (step.waits.empty()) continue;
    const auto last = *std::max_element(step.waits.begin(), step.waits.end(), [&](auto a, auto b) {
      return times[static_cast<std::size_t>(a)].end < times[static_cast<std::size_t>(b)].end;
    });
    const std::int64_t until = std::min(times[static_cast<std::size_t>(last)].end, times[s].begin);
    if (until > idle) waits.push_back({{idle, until}, s, static_cast<std::size_t>(last)});
  }
  return waits;
}

std::map<BufferId, double> seconds_waited_for_copies(const Plan& plan, const StepTimes& times) {
  std::map<BufferId, double> seconds;
  for (const auto& wait : stream_waits(plan, times)) {
    const PlanStep& on = plan.steps[wait.on];
    if (plan.steps[wait.step].kind != StepKind::launch || on.kind == StepKind::launch) continue;
    seconds[on.buffer] += 1e-9 * static_cast<double>(wait.nanoseconds.length());
  }
  return seconds;
}

std::string kernel_name(const Program& program, KernelId id) {
  const Kernel& kernel = program.kernel(id);
  return fmt::format("{} {}", kernel.name, phase_name(kernel.phase));
}

std::string step_name(const Program& program, const PlanStep& step) {
  if (step.kind == StepKind::launch) return kernel_name(program, step.kernel);
  return fmt::format("{} {}", stream_name(step.stream()), program.buffer(step.buffer).name);
}

}  // namespace vdnn
