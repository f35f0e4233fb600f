#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "vdnn/timeline.h"

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

// Runs the streams side by side. Work that runs beside copies is slower, as the links say.
class Clock {
 public:
  Clock(const Program& program, const Plan& plan, const Links& links, Simulation& result)
      : program_(program), plan_(plan), links_(links), result_(result), done_(plan.steps.size(), false) {
    result_.step_nanoseconds.resize(plan.steps.size());
    for (std::size_t s = 0; s < plan.steps.size(); ++s) stream(plan.steps[s].stream()).steps.push_back(s);
  }

  void run() {
    do {
      while (start_what_can()) {
      }
    } while (advance());
    double ended = 0;
    for (const auto& stream : streams_) ended = std::max(ended, stream.ended);
    result_.step_seconds = seconds(ended);
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

  Stream& stream(StreamKind kind) { return streams_[index_of(kind)]; }
  [[nodiscard]] bool is_busy(StreamKind kind) const { return streams_[index_of(kind)].busy; }
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
    const std::int64_t bytes = program_.buffer(step.buffer).placed_bytes();
    (step.kind == StepKind::offload ? result_.offloaded_bytes : result_.prefetched_bytes) += bytes;
    return nanoseconds(static_cast<double>(bytes) / links_.bytes_per_s(step.stream()));
  }

  // To the next end of a step; false where nothing runs.
  bool advance() {
    std::array<double, kStreamCount> speeds{};
    for (const auto kind : kStreamKinds) speeds[index_of(kind)] = speed(kind);
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

  // Copies to and from the far tier are too slow to be felt by what runs beside them.
  [[nodiscard]] double speed(StreamKind kind) const {
    if (kind == StreamKind::far_offload || kind == StreamKind::far_prefetch) return 1;
    const bool out = is_busy(StreamKind::offload);
    const bool in = is_busy(StreamKind::prefetch);
    if (kind == StreamKind::compute)
      return 1 / ((out ? links_.offload_slowdown : 1) * (in ? links_.prefetch_slowdown : 1));
    return out && in ? links_.duplex_share : 1;
  }

  const Program& program_;
  const Plan& plan_;
  const Links& links_;
  Simulation& result_;
  std::array<Stream, kStreamCount> streams_;
  std::vector<bool> done_;
  double now_ = 0;
  double kernels_ = 0;
  double copies_ = 0;
  double stalls_ = 0;
};

void find_recomputation(const Program& program, const Plan& plan, Simulation& result) {
  std::vector<bool> launched(program.kernels.size(), false);
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    if (plan.steps[s].kind != StepKind::launch) continue;
    if (launched[plan.steps[s].kernel.index()]) {
      ++result.recomputing_launches;
      result.recompute_seconds += 1e-9 * static_cast<double>(result.step_nanoseconds[s].length());
    }
    launched[plan.steps[s].kernel.index()] = true;
  }
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

// Where kernels were not measured, every step takes the same time.
StepTimes times_of(const Plan& plan, const Simulation& simulation) {
  if (simulation.step_seconds > 0) return simulation.step_nanoseconds;
  StepTimes times;
  for (std::int64_t s = 0; s < std::ssize(plan.steps); ++s) times.push_back({s, s + 1});
  return times;
}

// What the paper's policies manage: the buffers of feature-extraction layers; not the staged next batch, nor
// optimizer state, which the paper does not count.
bool is_managed(const Program& program, const Plan& plan, const Placement& placement) {
  LayerId layer;
  if (placement.buffer.valid()) {
    const Buffer& buffer = program.buffer(placement.buffer);
    if (buffer.role == Role::optimizer_state || (buffer.role == Role::input && buffer.persistent))
      return false;
    layer = buffer.made_by;
  } else {
    layer = program.kernel(plan.steps[static_cast<std::size_t>(placement.steps.begin)].kernel).layer;
  }
  return layer.valid() && program.layers[layer.index()].layer_class == LayerClass::feature_extraction;
}

void find_averages(const Program& program, const Plan& plan, Simulation& result) {
  const StepTimes times = times_of(plan, result);
  const std::vector<Interval> stays = placement_nanoseconds(plan, times);
  std::int64_t end = 1;
  for (const auto& step : times) end = std::max(end, step.end);
  std::map<std::int64_t, std::int64_t> managed;  // changes of live bytes, by time
  for (std::size_t i = 0; i < stays.size(); ++i) {
    const Placement& placement = plan.placements[i];
    const double share = static_cast<double>(stays[i].length()) / static_cast<double>(end);
    result.average_live_bytes += share * static_cast<double>(placement.bytes);
    if (!is_managed(program, plan, placement)) continue;
    result.managed_average_bytes += share * static_cast<double>(placement.bytes);
    managed[stays[i].begin] += placement.bytes;
    managed[stays[i].end] -= placement.bytes;
  }
  std::int64_t live = 0;
  for (const auto& [at, change] : managed) {
    live += change;
    result.managed_peak_bytes = std::max(result.managed_peak_bytes, live);
  }
}

}  // namespace

Simulation simulate(const Program& program, const Plan& plan, const Links& links) {
  Simulation result;
  Clock(program, plan, links, result).run();
  find_recomputation(program, plan, result);
  find_peaks(program, plan, result);
  find_averages(program, plan, result);
  return result;
}

}  // namespace vdnn
