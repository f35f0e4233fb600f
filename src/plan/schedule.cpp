#include "plan/schedule.h"

#include <algorithm>
#include <map>

#include "plan/far_buffers.h"
#include "vdnn/bytes.h"

namespace vdnn {
namespace {

class ScheduleBuilder {
 public:
  ScheduleBuilder(const PlanProblem& problem, const Decisions& decisions)
      : program_(problem.program),
        decisions_(decisions),
        each_once_(decisions.launches.empty()),
        launches_(each_once_ ? each_once(program_) : decisions.launches),
        uses_(each_once_ ? problem.uses : find_uses(program_, launches_)),
        far_(decisions.far_buffers) {
    if (far_.empty()) far_ = by_launches_away(problem.request.links.near_capacity_bytes);
  }

  Schedule run(const std::vector<int>& assignment) {
    add_steps();
    add_buffers();
    add_workspaces(assignment);
    return std::move(schedule_);
  }

 private:
  [[nodiscard]] std::vector<bool> by_launches_away(std::int64_t near_capacity_bytes) const {
    return choose_far_buffers(program_, decisions_.movements, near_capacity_bytes,
                              [&](const Movement& movement) {
                                const auto launches = static_cast<std::int32_t>(launches_.size());
                                const std::int32_t round = movement.goes_round ? launches : 0;
                                return movement.prefetch_with + round - movement.offload_with;
                              });
  }

  void add_steps() {
    const auto launches = static_cast<std::int32_t>(launches_.size());
    std::map<std::int32_t, std::vector<std::size_t>> offloads;
    std::map<std::int32_t, std::vector<std::size_t>> prefetches;
    std::map<std::int32_t, std::vector<std::pair<StepKind, std::size_t>>> done;  // by launch that waits
    for (std::size_t i = 0; i < decisions_.movements.size(); ++i) {
      const auto& movement = decisions_.movements[i];
      if (movement.copies_out) {
        offloads[movement.offload_with].push_back(i);
        done[movement.offload_done].emplace_back(StepKind::offload, i);
      }
      prefetches[movement.prefetch_with].push_back(i);
      done[movement.prefetch_done].emplace_back(StepKind::prefetch, i);
    }
    offload_step_.resize(decisions_.movements.size());
    prefetch_step_.resize(decisions_.movements.size());
    for (std::int32_t l = 0; l <= launches; ++l) {
      group_begin_.push_back(next_step());
      for (const auto i : offloads[l]) offload_step_[i] = add_copy(StepKind::offload, i);
      if (l == launches) break;
      for (const auto i : prefetches[l]) prefetch_step_[i] = add_copy(StepKind::prefetch, i);
      PlanStep launch{.kind = StepKind::launch, .kernel = launches_[static_cast<std::size_t>(l)]};
      for (const auto& [kind, i] : done[l]) {
        launch.waits.push_back(kind == StepKind::offload ? offload_step_[i] : prefetch_step_[i]);
      }
      launch_step_.push_back(next_step());
      schedule_.steps.push_back(std::move(launch));
    }
  }

  // A buffer has one place below the device, for all its absences.
  std::int32_t add_copy(StepKind kind, std::size_t movement) {
    const BufferId buffer = decisions_.movements[movement].buffer;
    const bool far = far_[buffer.index()];
    std::int64_t& used_bytes = far ? schedule_.far_tier_bytes : schedule_.tier_bytes;
    const auto [place, fresh] = tier_offsets_.try_emplace(buffer, used_bytes);
    if (fresh) used_bytes += program_.buffer(buffer).placed_bytes();
    schedule_.steps.push_back({.kind = kind,
                               .buffer = buffer,
                               .tier = far ? TierLevel::far : TierLevel::near,
                               .tier_offset_bytes = place->second});
    return next_step() - 1;
  }

  [[nodiscard]] std::int32_t next_step() const { return static_cast<std::int32_t>(schedule_.steps.size()); }

  void add_buffers() {
    std::vector<std::vector<std::size_t>> movements_of(program_.buffers.size());
    for (std::size_t i = 0; i < decisions_.movements.size(); ++i) {
      movements_of[decisions_.movements[i].buffer.index()].push_back(i);
    }
    for (std::size_t b = 0; b < program_.buffers.size(); ++b) {
      auto& movements = movements_of[b];
      std::sort(movements.begin(), movements.end(), [&](auto x, auto y) {
        return decisions_.movements[x].release < decisions_.movements[y].release;
      });
      add_stays(b, movements);
    }
  }

  void add_stays(std::size_t b, const std::vector<std::size_t>& movements) {
    const Buffer& buffer = program_.buffers[b];
    const auto& uses = uses_[b];
    const std::int64_t end = next_step();
    const bool own_address =
        !decisions_.share_addresses && (buffer.role == Role::feature_map ||
                                        buffer.role == Role::weight_gradient || buffer.role == Role::input);
    if ((buffer.persistent && movements.empty()) || own_address) return add_stay(b, {0, end});
    if (uses.empty()) return;
    const bool away_between_steps = !movements.empty() && decisions_.movements[movements.back()].goes_round;
    std::int64_t begin = launch_step(uses.front().launch);
    if (buffer.persistent) begin = away_between_steps ? prefetch_step_[movements.back()] : 0;
    for (const auto& away : absences(uses, movements)) {
      add_stay(b, {begin, away.begin});
      begin = away.end;
    }
    if (away_between_steps) return;
    const bool stays_on = buffer.result || buffer.persistent;
    add_stay(b, {begin, stays_on ? end : launch_step(uses.back().launch) + 1});
  }

  // From the end of a stay to the beginning of the next, in steps: what is moved, and what is recomputed.
  [[nodiscard]] std::vector<Interval> absences(const std::vector<Use>& uses,
                                               const std::vector<std::size_t>& movements) const {
    std::vector<Interval> all;
    for (const auto i : movements) {
      const Movement& movement = decisions_.movements[i];
      const std::int64_t release = group_begin_[static_cast<std::size_t>(movement.release)];
      all.push_back({movement.copies_out ? std::max<std::int64_t>(release, offload_step_[i] + 1) : release,
                     prefetch_step_[i]});
    }
    for (std::size_t u = 1; u < uses.size(); ++u) {
      if (uses[u].restarts) all.push_back({launch_step(uses[u - 1].launch) + 1, launch_step(uses[u].launch)});
    }
    std::sort(all.begin(), all.end(), [](const auto& x, const auto& y) { return x.begin < y.begin; });
    return all;
  }

  [[nodiscard]] std::int64_t launch_step(std::int32_t launch) const {
    return launch_step_[static_cast<std::size_t>(launch)];
  }

  void add_stay(std::size_t buffer, Interval steps) {
    schedule_.placements.push_back(
        {.buffer = BufferId(buffer), .steps = steps, .bytes = program_.buffers[buffer].placed_bytes()});
  }

  void add_workspaces(const std::vector<int>& assignment) {
    for (std::size_t l = 0; l < launches_.size(); ++l) {
      const std::size_t k = launches_[l].index();
      const auto& candidate = program_.kernels[k].candidates[static_cast<std::size_t>(assignment[k])];
      if (candidate.workspace_bytes == 0) continue;
      const std::int64_t step = launch_step_[l];
      schedule_.placements.push_back(
          {.steps = {step, step + 1}, .bytes = round_up(candidate.workspace_bytes, 64)});
    }
  }

  const Program& program_;
  const Decisions& decisions_;
  bool each_once_;
  Launches launches_;
  Uses uses_;
  std::vector<bool> far_;  // by buffer
  Schedule schedule_;
  std::map<BufferId, std::int64_t> tier_offsets_;
  std::vector<std::int32_t> offload_step_;   // by movement
  std::vector<std::int32_t> prefetch_step_;  // by movement
  std::vector<std::int32_t>
      group_begin_;  // first step that belongs to a launch: its copies, then itself; and the end
  std::vector<std::int32_t> launch_step_;  // by launch
};

}  // namespace

Schedule make_schedule(const PlanProblem& problem, const Decisions& decisions,
                       const std::vector<int>& assignment) {
  return ScheduleBuilder(problem, decisions).run(assignment);
}

std::int64_t place(const Program& program, std::vector<Placement>& placements, std::int64_t step_count,
                   Pack pack) {
  std::int64_t bottom = 0;
  std::vector<Block> blocks;
  std::vector<std::size_t> placement_of;
  std::int64_t alignment_below = 64;
  for (std::size_t i = 0; i < placements.size(); ++i) {
    auto& placement = placements[i];
    const std::int64_t alignment =
        placement.buffer.valid() ? program.buffer(placement.buffer).alignment_bytes : 64;
    alignment_below = std::max(alignment_below, alignment);
    if (placement.steps == Interval{0, step_count}) {
      placement.offset_bytes = round_up(bottom, alignment);
      bottom = placement.offset_bytes + placement.bytes;
      continue;
    }
    blocks.push_back({.steps = placement.steps, .bytes = placement.bytes, .alignment_bytes = alignment});
    placement_of.push_back(i);
  }
  if (blocks.empty()) return bottom;
  bottom = round_up(bottom, alignment_below);
  pack(blocks);
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    placements[placement_of[i]].offset_bytes = bottom + blocks[i].offset_bytes;
  }
  return bottom + extent_bytes(blocks);
}

}  // namespace vdnn
