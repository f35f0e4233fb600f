#include "plan/schedule.h"

#include <algorithm>
#include <map>

#include "plan/packer.h"
#include "vdnn/bytes.h"

namespace vdnn {
namespace {

class ScheduleBuilder {
 public:
  ScheduleBuilder(const Program& program, const Uses& uses, const Decisions& decisions)
      : program_(program), uses_(uses), decisions_(decisions) {}

  Schedule run(const std::vector<int>& assignment) {
    add_steps();
    add_buffers();
    add_workspaces(assignment);
    return std::move(schedule_);
  }

 private:
  void add_steps() {
    const auto kernels = static_cast<std::int32_t>(program_.kernels.size());
    std::map<std::int32_t, std::vector<std::size_t>> offloads;
    std::map<std::int32_t, std::vector<std::size_t>> prefetches;
    std::map<std::int32_t, std::vector<std::pair<StepKind, std::size_t>>> done;  // by kernel that waits
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
    for (std::int32_t kernel = 0; kernel <= kernels; ++kernel) {
      group_begin_.push_back(next_step());
      for (const auto i : offloads[kernel]) offload_step_[i] = add_copy(StepKind::offload, i);
      if (kernel == kernels) break;
      for (const auto i : prefetches[kernel]) prefetch_step_[i] = add_copy(StepKind::prefetch, i);
      PlanStep launch{.kind = StepKind::launch, .kernel = KernelId(static_cast<std::size_t>(kernel))};
      for (const auto& [kind, i] : done[kernel]) {
        launch.waits.push_back(kind == StepKind::offload ? offload_step_[i] : prefetch_step_[i]);
      }
      launch_step_.push_back(next_step());
      schedule_.steps.push_back(std::move(launch));
    }
  }

  // A buffer has one place in the tier, for all its absences.
  std::int32_t add_copy(StepKind kind, std::size_t movement) {
    const BufferId buffer = decisions_.movements[movement].buffer;
    const auto [place, fresh] = tier_offsets_.try_emplace(buffer, schedule_.tier_bytes);
    if (fresh) schedule_.tier_bytes += program_.buffer(buffer).placed_bytes();
    schedule_.steps.push_back({.kind = kind, .buffer = buffer, .tier_offset_bytes = place->second});
    return next_step() - 1;
  }

  [[nodiscard]] std::int32_t next_step() const { return static_cast<std::int32_t>(schedule_.steps.size()); }

  void add_buffers() {
    std::vector<std::vector<std::size_t>> movements_of(program_.buffers.size());
    for (std::size_t i = 0; i < decisions_.movements.size(); ++i) {
      movements_of[decisions_.movements[i].buffer.index()].push_back(i);
    }
    const std::int64_t end = next_step();
    for (std::size_t b = 0; b < program_.buffers.size(); ++b) {
      const Buffer& buffer = program_.buffers[b];
      const bool own_address =
          !decisions_.share_addresses && (buffer.role == Role::feature_map ||
                                          buffer.role == Role::weight_gradient || buffer.role == Role::input);
      auto& movements = movements_of[b];
      std::sort(movements.begin(), movements.end(), [&](auto x, auto y) {
        return decisions_.movements[x].release < decisions_.movements[y].release;
      });
      const auto& uses = uses_[b];
      if ((buffer.persistent && movements.empty()) || own_address) {
        add_stay(b, {0, end});
        continue;
      }
      if (uses.empty()) continue;
      const bool away_between_steps = !movements.empty() && decisions_.movements[movements.back()].goes_round;
      std::int64_t begin = launch_step_[static_cast<std::size_t>(uses.front().kernel)];
      if (buffer.persistent) begin = away_between_steps ? prefetch_step_[movements.back()] : 0;
      for (const auto i : movements) {
        const auto& movement = decisions_.movements[i];
        const std::int64_t release = group_begin_[static_cast<std::size_t>(movement.release)];
        add_stay(b, {begin,
                     movement.copies_out ? std::max<std::int64_t>(release, offload_step_[i] + 1) : release});
        begin = prefetch_step_[i];
      }
      if (away_between_steps) continue;
      const bool stays_on = buffer.result || buffer.persistent;
      add_stay(b, {begin, stays_on ? end : launch_step_[static_cast<std::size_t>(uses.back().kernel)] + 1});
    }
  }

  void add_stay(std::size_t buffer, Interval steps) {
    schedule_.placements.push_back(
        {.buffer = BufferId(buffer), .steps = steps, .bytes = program_.buffers[buffer].placed_bytes()});
  }

  void add_workspaces(const std::vector<int>& assignment) {
    for (std::size_t k = 0; k < program_.kernels.size(); ++k) {
      const auto& candidate = program_.kernels[k].candidates[static_cast<std::size_t>(assignment[k])];
      if (candidate.workspace_bytes == 0) continue;
      const std::int64_t step = launch_step_[k];
      schedule_.placements.push_back(
          {.steps = {step, step + 1}, .bytes = round_up(candidate.workspace_bytes, 64)});
    }
  }

  const Program& program_;
  const Uses& uses_;
  const Decisions& decisions_;
  Schedule schedule_;
  std::map<BufferId, std::int64_t> tier_offsets_;
  std::vector<std::int32_t> offload_step_;   // by movement
  std::vector<std::int32_t> prefetch_step_;  // by movement
  std::vector<std::int32_t>
      group_begin_;  // first step that belongs to a kernel: its copies, then itself; and the end
  std::vector<std::int32_t> launch_step_;  // by kernel
};

}  // namespace

Schedule make_schedule(const Program& program, const Uses& uses, const Decisions& decisions,
                       const std::vector<int>& assignment) {
  return ScheduleBuilder(program, uses, decisions).run(assignment);
}

std::int64_t place(const Program& program, std::vector<Placement>& placements, std::int64_t step_count) {
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
  pack_lowest(blocks);
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    placements[placement_of[i]].offset_bytes = bottom + blocks[i].offset_bytes;
  }
  return bottom + extent_bytes(blocks);
}

}  // namespace vdnn
