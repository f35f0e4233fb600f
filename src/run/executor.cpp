#include "vdnn/executor.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "vdnn/error.h"

namespace vdnn {
namespace {

void check_tier(const Tier* tier, std::int64_t bytes) {
  if (tier != nullptr || bytes == 0) return;
  throw UsageError(fmt::format("the plan moves {} bytes, but there is no tier to move them to", bytes));
}

}  // namespace

class Executor::Impl {
 public:
  using Place = Executor::Place;

  Impl(DeviceContext& context, const Program& program, const Plan& plan, const Tiers& tiers,
       const ExecutorOptions& options)
      : context_(context), program_(program), plan_(plan), tiers_(tiers), options_(options) {
    check_tier(tiers.near, plan.tier_bytes);
    check_tier(tiers.far, plan.far_tier_bytes);
    resolve_addresses();
    choose_events();
    prepare();
    if (options.poison) find_releases();
  }

  void begin_step(const StepScalars& scalars) {
    poisoned_ = false;
    for (std::size_t s = 0; s < plan_.steps.size(); ++s) {
      if (options_.poison) poison_released(s);
      const PlanStep& step = plan_.steps[s];
      const StreamKind stream = step.stream();
      for (const auto wait : step.waits) context_.wait(stream, *events_[static_cast<std::size_t>(wait)]);
      issue(s, step, scalars);
      if (events_[s]) context_.record(*events_[s], stream);
      if (s == last_load_step_) context_.record(batch_taken(), StreamKind::compute);
    }
  }

  [[nodiscard]] EventId batch_taken() const { return EventId(0); }

  [[nodiscard]] Place place_between_steps(BufferId buffer) const {
    const bool comes_first =
        !plan_.steps.empty() && plan_.steps[0].kind == StepKind::prefetch && plan_.steps[0].buffer == buffer;
    for (const auto& placement : plan_.placements) {
      if (placement.buffer != buffer) continue;
      // What persists ends a step at the address where it begins the next.
      const bool there = program_.buffer(buffer).persistent
                             ? placement.steps.begin == 0 && !comes_first
                             : placement.steps.end == static_cast<std::int64_t>(plan_.steps.size());
      if (there) return {.offset_bytes = placement.offset_bytes};
    }
    // What is away between steps comes back with its first copy.
    for (const auto& step : plan_.steps) {
      if (step.kind == StepKind::prefetch && step.buffer == buffer && program_.buffer(buffer).persistent)
        return {.tier = step.tier, .offset_bytes = step.tier_offset_bytes};
    }
    throw UsageError(fmt::format("{} is not kept until the step is over", program_.buffer(buffer).name));
  }

  DeviceContext& context() { return context_; }
  [[nodiscard]] std::int64_t executed_peak_bytes() const { return executed_peak_bytes_; }
  [[nodiscard]] std::int64_t offloaded_bytes() const { return offloaded_bytes_; }
  [[nodiscard]] std::int64_t prefetched_bytes() const { return prefetched_bytes_; }

 private:
  // Arguments of every step as arena offsets: views and workspace of a launch, the place of a copy.
  void resolve_addresses() {
    std::vector<std::vector<const Placement*>> stays(program_.buffers.size());
    std::vector<const Placement*> workspaces(plan_.steps.size(), nullptr);
    for (const auto& placement : plan_.placements) {
      if (placement.buffer.valid()) {
        stays[placement.buffer.index()].push_back(&placement);
      } else {
        workspaces[static_cast<std::size_t>(placement.steps.begin)] = &placement;
      }
    }
    const auto place = [&](BufferId buffer, std::size_t step) -> const Placement& {
      for (const auto* stay : stays[buffer.index()]) {
        if (stay->steps.contains(static_cast<std::int64_t>(step))) return *stay;
      }
      throw UsageError(fmt::format("{} has no address at step {}", program_.buffer(buffer).name, step));
    };
    offsets_.resize(plan_.steps.size());
    ends_.resize(plan_.steps.size(), 0);
    for (std::size_t s = 0; s < plan_.steps.size(); ++s) {
      const PlanStep& step = plan_.steps[s];
      const auto add = [&](const Placement& stay, std::int64_t offset) {
        offsets_[s].push_back(stay.offset_bytes + offset);
        ends_[s] = std::max(ends_[s], stay.offset_bytes + stay.bytes);
      };
      if (step.kind != StepKind::launch) {
        add(place(step.buffer, s), 0);
        continue;
      }
      const Kernel& kernel = program_.kernel(step.kernel);
      for (const auto& view : kernel.reads) add(place(view.buffer, s), view.offset_bytes);
      for (const auto& view : kernel.writes) add(place(view.buffer, s), view.offset_bytes);
      if (workspaces[s] != nullptr) add(*workspaces[s], 0);
      if (kernel.phase == Phase::load) last_load_step_ = s;
    }
  }

  // Only steps that others wait for need an event.
  void choose_events() {
    events_.resize(plan_.steps.size());
    std::size_t next = 2;  // 0: batch taken, 1: poisoned
    const auto choose = [&](std::size_t step) {
      if (!events_[step]) events_[step] = EventId(next++);
    };
    for (std::size_t s = 0; s < plan_.steps.size(); ++s) {
      for (const auto wait : plan_.steps[s].waits) choose(static_cast<std::size_t>(wait));
      if (options_.poison && plan_.steps[s].kind != StepKind::launch) choose(s);
    }
  }

  void prepare() {
    std::array<bool, kStreamCount> bound{};
    std::vector<bool> loaded(program_.kernels.size(), false);
    for (std::size_t s = 0; s < plan_.steps.size(); ++s) {
      const PlanStep& step = plan_.steps[s];
      if (step.kind != StepKind::launch) {
        const bool first = !std::exchange(bound[index_of(step.stream())], true);
        if (first) context_.bind(step.stream(), *tiers_.at(step.tier));
      } else if (!loaded[step.kernel.index()]) {
        loaded[step.kernel.index()] = true;
        context_.load(step.kernel, plan_.assignment[step.kernel.index()], offsets_[s]);
      }
    }
  }

  void issue(std::size_t s, const PlanStep& step, const StepScalars& scalars) {
    executed_peak_bytes_ = std::max(executed_peak_bytes_, ends_[s]);
    if (step.kind == StepKind::launch) {
      context_.launch(step.kernel, plan_.assignment[step.kernel.index()], offsets_[s], scalars);
      return;
    }
    if (poisoned_) context_.wait(step.stream(), EventId(1));
    const std::int64_t bytes = program_.buffer(step.buffer).placed_bytes();
    context_.copy(step.stream(), offsets_[s][0], bytes, step.tier_offset_bytes);
    (step.kind == StepKind::offload ? offloaded_bytes_ : prefetched_bytes_) += bytes;
  }

  void find_releases() {
    released_.resize(plan_.steps.size());
    for (std::size_t i = 0; i < plan_.placements.size(); ++i) {
      const auto end = static_cast<std::size_t>(plan_.placements[i].steps.end);
      if (end < plan_.steps.size()) released_[end].push_back(i);
    }
  }

  // Before step s, fills what is free from s on, once the copies that still use it are done.
  void poison_released(std::size_t s) {
    for (const auto i : released_[s]) {
      const Placement& placement = plan_.placements[i];
      for (auto step = placement.steps.begin; placement.buffer.valid() && step < placement.steps.end;
           ++step) {
        const PlanStep& copy = plan_.steps[static_cast<std::size_t>(step)];
        if (copy.kind != StepKind::launch && copy.buffer == placement.buffer) {
          context_.wait(StreamKind::compute, *events_[static_cast<std::size_t>(step)]);
        }
      }
      context_.poison(placement.offset_bytes, placement.bytes);
    }
    if (released_[s].empty()) return;
    context_.record(EventId(1), StreamKind::compute);
    poisoned_ = true;
  }

  DeviceContext& context_;
  const Program& program_;
  const Plan& plan_;
  Tiers tiers_;
  ExecutorOptions options_;
  std::vector<std::vector<std::int64_t>> offsets_;  // by step
  std::vector<std::int64_t> ends_;                  // by step: highest address it uses plus one
  std::vector<std::optional<EventId>> events_;      // by step
  std::vector<std::vector<std::size_t>> released_;  // placements by the step that frees them
  std::size_t last_load_step_ = 0;
  bool poisoned_ = false;
  std::int64_t executed_peak_bytes_ = 0;
  std::int64_t offloaded_bytes_ = 0;
  std::int64_t prefetched_bytes_ = 0;
};

Executor::Executor(DeviceContext& context, const Program& program, const Plan& plan, const Tiers& tiers,
                   const ExecutorOptions& options)
    : impl_(std::make_unique<Impl>(context, program, plan, tiers, options)) {}
Executor::~Executor() = default;

void Executor::begin_step(const StepScalars& scalars) {
  impl_->begin_step(scalars);
}
EventId Executor::batch_taken() const {
  return impl_->batch_taken();
}
void Executor::end_step() {
  impl_->context().synchronize();
}
Executor::Place Executor::place_between_steps(BufferId buffer) const {
  return impl_->place_between_steps(buffer);
}
std::int64_t Executor::executed_peak_bytes() const {
  return impl_->executed_peak_bytes();
}
std::int64_t Executor::offloaded_bytes() const {
  return impl_->offloaded_bytes();
}
std::int64_t Executor::prefetched_bytes() const {
  return impl_->prefetched_bytes();
}

}  // namespace vdnn
