#include <algorithm>
#include <array>
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

// Runs the three streams side by side. Work that runs beside copies is slower, as the links say.
class Clock {
 public:
  Clock(const Program& program, const Plan& plan, const Links& links, Simulation& result)
      : program_(program), plan_(plan), links_(links), result_(result), done_(plan.steps.size(), false) {
    result_.step_nanoseconds.resize(plan.steps.size());
    for (std::size_t s = 0; s < plan.steps.size(); ++s) stream(plan.steps[s].kind).steps.push_back(s);
  }

  void run() {
    do {
      while (start_what_can()) {
      }
    } while (advance());
    result_.step_seconds = seconds(std::max({streams_[0].ended, streams_[1].ended, streams_[2].ended}));
    result_.kernel_seconds = seconds(kernels_);
    result_.stall_seconds = seconds(stalls_);
    result_.copy_seconds = seconds(copies_);
  }

 private:
  struct Stream {
    std::vector<std::size_t> steps;
    std::size_t next = 0;
    bool busy = false;
    double left = 0;   // nanoseconds of work at full speed
    double ended = 0;  // when the last step did
  };

  Stream& stream(StepKind kind) { return streams_[static_cast<std::size_t>(kind)]; }
  static double seconds(double nanoseconds) { return nanoseconds * 1e-9; }

  // Starts steps whose waits are over; true where one of them took no time.
  bool start_what_can() {
    bool ended = false;
    for (auto& stream : streams_) {
      if (stream.busy || stream.next == stream.steps.size()) continue;
      const std::size_t s = stream.steps[stream.next];
      const auto& waits = plan_.steps[s].waits;
      if (!std::all_of(waits.begin(), waits.end(),
                       [&](auto wait) { return done_[static_cast<std::size_t>(wait)]; }))
        continue;
      result_.step_nanoseconds[s].begin = std::llround(now_);
      stream.busy = true;
      stream.left = static_cast<double>(work_nanoseconds(plan_.steps[s]));
      if (plan_.steps[s].kind == StepKind::launch) stalls_ += now_ - stream.ended;
      if (stream.left > 0) continue;
      end_step(stream);
      ended = true;
    }
    return ended;
  }

  std::int64_t work_nanoseconds(const PlanStep& step) {
    if (step.kind == StepKind::launch) {
      const auto candidate = static_cast<std::size_t>(plan_.assignment[step.kernel.index()]);
      return nanoseconds(program_.kernel(step.kernel).candidates[candidate].seconds);
    }
    const bool out = step.kind == StepKind::offload;
    const std::int64_t bytes = program_.buffer(step.buffer).placed_bytes();
    (out ? result_.offloaded_bytes : result_.prefetched_bytes) += bytes;
    return nanoseconds(static_cast<double>(bytes) /
                       (out ? links_.offload_bytes_per_s : links_.prefetch_bytes_per_s));
  }

  // To the next end of a step; false where nothing runs.
  bool advance() {
    const std::array<double, 3> speeds = {speed(0), speed(1), speed(2)};
    double until_next = -1;
    for (std::size_t i = 0; i < streams_.size(); ++i) {
      const double needs = streams_[i].left / speeds[i];
      if (streams_[i].busy && (until_next < 0 || needs < until_next)) until_next = needs;
    }
    if (until_next < 0) return false;
    now_ += until_next;
    for (std::size_t i = 0; i < streams_.size(); ++i) {
      Stream& stream = streams_[i];
      if (!stream.busy) continue;
      (i == 0 ? kernels_ : copies_) += until_next;
      stream.left -= until_next * speeds[i];
      constexpr double kRounding = 1e-3;
      if (stream.left < kRounding) end_step(stream);
    }
    return true;
  }

  void end_step(Stream& stream) {
    const std::size_t s = stream.steps[stream.next++];
    result_.step_nanoseconds[s].end = std::llround(now_);
    done_[s] = true;
    stream.busy = false;
    stream.ended = now_;
  }

  [[nodiscard]] double speed(std::size_t i) const {
    const bool out = streams_[static_cast<std::size_t>(StepKind::offload)].busy;
    const bool in = streams_[static_cast<std::size_t>(StepKind::prefetch)].busy;
    if (i == static_cast<std::size_t>(StepKind::launch))
      return 1 / ((out ? links_.offload_slowdown : 1) * (in ? links_.prefetch_slowdown : 1));
    return out && in ? links_.duplex_share : 1;
  }

  const Program& program_;
  const Plan& plan_;
  const Links& links_;
  Simulation& result_;
  std::array<Stream, 3> streams_;  // by kind of step
  std::vector<bool> done_;
  double now_ = 0;
  double kernels_ = 0;
  double copies_ = 0;
  double stalls_ = 0;
};

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
  Clock(program, plan, links, result).run();
  find_peaks(program, plan, result);
  result.average_live_bytes = average_live_bytes(plan, result);
  return result;
}

}  // namespace vdnn
