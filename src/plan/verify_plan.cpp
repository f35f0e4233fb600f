#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "plan/verify_claims.h"
#include "plan/verify_placements.h"
#include "plan/verify_structure.h"
#include "plan/verify_versions.h"

namespace vdnn {
namespace {

// What must have happened before a step starts, by stream: every step up to and including this one.
using Before = std::array<std::int64_t, kStreamCount>;
constexpr Before kNothing = {-1, -1, -1, -1, -1};

class Verifier {
 public:
  Verifier(const Program& program, const Plan& plan)
      : program_(program), plan_(plan), versions_(find_versions(program)) {}

  std::vector<std::string> run() {
    violations_ = structure_violations(program_, plan_);
    if (violations_.empty()) {
      for (const auto& violation : placement_violations(program_, plan_)) report("{}", violation);
      find_before();
      check_data();
      check_address_reuse();
      for (const auto& violation : verify_claims(program_, plan_)) report("{}", violation);
    }
    return std::move(violations_);
  }

 private:
  template <class... Args>
  void report(fmt::format_string<Args...> text, Args&&... args) {
    if (violations_.size() < kMostViolations)
      violations_.push_back(fmt::format(text, std::forward<Args>(args)...));
  }

  [[nodiscard]] std::string name(const Placement& placement) const {
    return placement_name(program_, placement);
  }

  void find_before() {
    Before latest = kNothing;
    for (std::size_t s = 0; s < plan_.steps.size(); ++s) {
      Before before = kNothing;
      const auto include = [&](std::int64_t step) {
        const auto& known = before_[static_cast<std::size_t>(step)];
        for (std::size_t k = 0; k < kStreamCount; ++k) before[k] = std::max(before[k], known[k]);
        auto& own = before[stream_of(step)];
        own = std::max(own, step);
      };
      const auto stream = stream_of(static_cast<std::int64_t>(s));
      if (latest[stream] >= 0) include(latest[stream]);
      for (const auto wait : plan_.steps[s].waits) include(wait);
      latest[stream] = static_cast<std::int64_t>(s);
      before_.push_back(before);
    }
  }

  [[nodiscard]] std::size_t stream_of(std::int64_t step) const {
    return index_of(plan_.steps[static_cast<std::size_t>(step)].stream());
  }

  [[nodiscard]] bool happens_before(std::int64_t first, std::size_t second) const {
    return before_[second][stream_of(first)] >= first;
  }

  struct TierPlace {
    TierLevel tier = TierLevel::near;
    std::int64_t offset_bytes = -1;
    friend bool operator==(const TierPlace&, const TierPlace&) = default;
  };
  static TierPlace place_of(const PlanStep& copy) { return {copy.tier, copy.tier_offset_bytes}; }

  struct Access {
    std::int64_t step = 0;
    bool writes = false;
  };
  // What is known of one buffer as the steps go by.
  struct State {
    std::int64_t version = 0;            // left by the launch that wrote it last
    std::int64_t writer = -1;            // step that wrote the resident copy last
    std::int64_t resident_version = -1;  // -1: nothing resident
    std::size_t stay = SIZE_MAX;         // placement of the resident copy
    std::int64_t tier_version = -1;
    TierPlace tier_place;
    std::int64_t tier_step = -1;
    std::vector<Access> accesses;  // of the resident copy
  };

  std::size_t stay_at(BufferId buffer, std::size_t step) const {
    const auto stays = stays_.find(buffer);
    if (stays == stays_.end()) return SIZE_MAX;
    for (const auto i : stays->second) {
      if (plan_.placements[i].steps.contains(static_cast<std::int64_t>(step))) return i;
    }
    return SIZE_MAX;
  }

  // Moves the state of a buffer to the stay that covers the step; false where there is none.
  bool enter(BufferId buffer, std::size_t step, State& state) {
    const auto stay = stay_at(buffer, step);
    if (stay == SIZE_MAX) {
      report("P2: {} has no address at step {}", program_.buffer(buffer).name, step);
      return false;
    }
    if (stay != state.stay) {
      state.resident_version = -1;
      state.stay = stay;
      state.writer = -1;
      state.accesses.clear();
    }
    return true;
  }

  void access(BufferId buffer, std::size_t step, State& state, bool writes) {
    for (const auto& earlier : state.accesses) {
      if ((writes || earlier.writes) && earlier.step != static_cast<std::int64_t>(step) &&
          !happens_before(earlier.step, step)) {
        report("P10: step {} and step {} both use {} and are not ordered", earlier.step, step,
               program_.buffer(buffer).name);
        break;
      }
    }
    state.accesses.push_back({static_cast<std::int64_t>(step), writes});
    first_last_[state.stay].push_back(static_cast<std::int64_t>(step));
  }

  void check_data() {
    for (std::size_t i = 0; i < plan_.placements.size(); ++i) {
      if (plan_.placements[i].buffer.valid())
        stays_[plan_.placements[i].buffer].push_back(i);
      else
        first_last_[i].push_back(plan_.placements[i].steps.begin);
    }
    std::vector<State> states(program_.buffers.size());
    // What persists lies where the step before left it, and this one must leave it there for the next.
    for (std::size_t b = 0; b < states.size(); ++b) {
      if (!program_.buffers[b].persistent) continue;
      states[b].stay = comes_with_the_first_step(BufferId(b)) ? SIZE_MAX : stay_at(BufferId(b), 0);
      if (states[b].stay != SIZE_MAX) {
        states[b].resident_version = 0;
      } else {
        begin_away(BufferId(b), states[b]);
      }
    }
    for (std::size_t s = 0; s < plan_.steps.size(); ++s) {
      const PlanStep& step = plan_.steps[s];
      if (step.kind == StepKind::launch) {
        check_launch(s, states);
      } else if (const Buffer& moved = program_.buffer(step.buffer);
                 moved.persistent && moved.role == Role::input) {
        report("P2: step {} moves {}, which is written from outside while the step runs", s, moved.name);
      } else if (State& state = states[step.buffer.index()]; enter(step.buffer, s, state)) {
        step.kind == StepKind::offload ? check_offload(s, state) : check_prefetch(s, state);
      }
    }
    check_end(states);
  }

  void check_end(const std::vector<State>& states) {
    const std::vector<std::int64_t>& last = versions_.last;
    for (std::size_t b = 0; b < states.size(); ++b) {
      const Buffer& buffer = program_.buffers[b];
      if (!buffer.persistent && !buffer.result) continue;
      const std::size_t stay = states[b].stay;
      const std::size_t begin = stay_at(BufferId(b), 0);
      if (away_.contains(BufferId(b))) {
        if (states[b].tier_version != last[b] || states[b].tier_place != away_[BufferId(b)])
          report("P2: {} is away when the step is over, and its last value is not in the tier", buffer.name);
        continue;
      }
      if (states[b].resident_version != last[b] || stay == SIZE_MAX ||
          plan_.placements[stay].steps.end != static_cast<std::int64_t>(plan_.steps.size())) {
        report("P2: {} is not resident when the step is over", buffer.name);
        continue;
      }
      // Without a stay at the beginning there is no address to compare; that is reported already.
      if (buffer.persistent && begin != SIZE_MAX &&
          plan_.placements[stay].offset_bytes != plan_.placements[begin].offset_bytes)
        report("P2: {} ends the step at another address than it began it", buffer.name);
    }
  }

  // Its stay then begins with the step without being there already.
  [[nodiscard]] bool comes_with_the_first_step(BufferId buffer) const {
    return !plan_.steps.empty() && plan_.steps[0].kind == StepKind::prefetch &&
           plan_.steps[0].buffer == buffer;
  }

  // What persists and has no address when the step begins is in the tier, where its first prefetch looks for
  // it.
  void begin_away(BufferId buffer, State& state) {
    const auto first = std::find_if(plan_.steps.begin(), plan_.steps.end(), [&](const PlanStep& step) {
      return step.kind != StepKind::launch && step.buffer == buffer;
    });
    if (first == plan_.steps.end() || first->kind != StepKind::prefetch) {
      report("P2: {} is not resident when the step begins", program_.buffer(buffer).name);
      return;
    }
    state.tier_version = 0;
    state.tier_place = away_[buffer] = place_of(*first);
    take_tier_range(static_cast<std::size_t>(first - plan_.steps.begin()), *first);
  }

  // False where the range is not in the tier.
  bool take_tier_range(std::size_t s, const PlanStep& step) {
    const std::int64_t bytes = program_.buffer(step.buffer).placed_bytes();
    const std::int64_t holds = step.tier == TierLevel::near ? plan_.tier_bytes : plan_.far_tier_bytes;
    if (step.tier_offset_bytes < 0 || bytes > holds || step.tier_offset_bytes > holds - bytes) {
      report("P10: step {} {} outside the tier's {} bytes", s,
             step.kind == StepKind::offload ? "writes" : "reads", holds);
      return false;
    }
    auto& ranges = tier_ranges_[static_cast<std::size_t>(step.tier)];
    for (const auto& [offset, other] : ranges) {
      if (other.first != step.buffer && offset < step.tier_offset_bytes + bytes &&
          step.tier_offset_bytes < offset + other.second) {
        report("P10: {} and {} overlap in the tier", program_.buffer(step.buffer).name,
               program_.buffer(other.first).name);
      }
    }
    ranges[step.tier_offset_bytes] = {step.buffer, bytes};
    return true;
  }

  void check_launch(std::size_t s, std::vector<State>& states) {
    const Kernel& kernel = program_.kernel(plan_.steps[s].kernel);
    const auto candidate = static_cast<std::size_t>(plan_.assignment[plan_.steps[s].kernel.index()]);
    if (kernel.candidates[candidate].workspace_bytes > workspace_at(s))
      report("P2: {} lacks its workspace at step {}", kernel.name, s);
    const KernelVersions& versions = versions_.of_kernel[plan_.steps[s].kernel.index()];
    for (const auto& read : versions.reads) {
      State& state = states[read.buffer.index()];
      if (!enter(read.buffer, s, state)) continue;
      if (state.resident_version != read.version)
        report("P2: {} at step {} reads {}, which does not hold the value that it needs", kernel.name, s,
               program_.buffer(read.buffer).name);
      access(read.buffer, s, state, false);
    }
    for (const auto& write : versions.writes) {
      State& state = states[write.buffer.index()];
      if (!enter(write.buffer, s, state)) continue;
      // Who writes first makes the value from its beginning; others leave what they do not write.
      const bool begins = write.version == 1 && !program_.buffer(write.buffer).persistent;
      if (!begins && state.resident_version != write.version - 1)
        report("P2: {} at step {} changes {}, which does not hold the value that it needs", kernel.name, s,
               program_.buffer(write.buffer).name);
      access(write.buffer, s, state, true);
      state.resident_version = state.version = write.version;
    }
  }

  [[nodiscard]] std::int64_t workspace_at(std::size_t step) {
    if (workspaces_.empty()) {
      workspaces_.resize(plan_.steps.size(), 0);
      for (const auto& placement : plan_.placements) {
        if (!placement.buffer.valid())
          workspaces_[static_cast<std::size_t>(placement.steps.begin)] = placement.bytes;
      }
    }
    return workspaces_[step];
  }

  void check_offload(std::size_t s, State& state) {
    const PlanStep& step = plan_.steps[s];
    if (state.resident_version != state.version)
      report("P2: step {} offloads {}, which does not hold its last value", s,
             program_.buffer(step.buffer).name);
    access(step.buffer, s, state, false);
    if (!take_tier_range(s, step)) return;
    state.tier_version = state.resident_version;
    state.tier_place = place_of(step);
    state.tier_step = static_cast<std::int64_t>(s);
  }

  void check_prefetch(std::size_t s, State& state) {
    const PlanStep& step = plan_.steps[s];
    if (state.tier_version != state.version || state.tier_place != place_of(step)) {
      report("P2: step {} prefetches {}, whose last value is not there", s,
             program_.buffer(step.buffer).name);
    } else if (state.tier_step >= 0 && !happens_before(state.tier_step, s)) {
      report("P10: step {} prefetches {} before its offload (step {}) has ended", s,
             program_.buffer(step.buffer).name, state.tier_step);
    }
    access(step.buffer, s, state, true);
    state.resident_version = state.tier_version;
  }

  // Each owner's first access must follow every access of the owners whose bytes it takes over. Kernels
  // follow each other on their stream; only pairs with a copy in them can go wrong.
  void check_address_reuse() {
    const auto is_copy = [&](std::int64_t step) {
      return plan_.steps[static_cast<std::size_t>(step)].kind != StepKind::launch;
    };
    std::vector<std::size_t> with_copies;
    std::vector<std::size_t> used;
    for (const auto& [stay, steps] : first_last_) {
      used.push_back(stay);
      if (std::any_of(steps.begin(), steps.end(), is_copy)) with_copies.push_back(stay);
    }
    const auto check = [&](std::size_t before, std::size_t after) {
      const Placement& a = plan_.placements[before];
      const Placement& b = plan_.placements[after];
      if (before == after || a.steps.end > b.steps.begin || a.offset_bytes >= b.offset_bytes + b.bytes ||
          b.offset_bytes >= a.offset_bytes + a.bytes)
        return;
      const auto first = first_last_[after].front();
      for (const auto step : first_last_[before]) {
        if (!happens_before(step, static_cast<std::size_t>(first))) {
          report("P10: step {} takes over bytes of {} that step {} may still use", first, name(a), step);
          return;
        }
      }
    };
    for (const auto copied : with_copies) {
      for (const auto other : used) {
        check(copied, other);
        check(other, copied);
      }
    }
  }

  const Program& program_;
  const Plan& plan_;
  ProgramVersions versions_;
  std::vector<std::string> violations_;
  std::vector<Before> before_;
  std::map<BufferId, std::vector<std::size_t>> stays_;
  std::map<std::size_t, std::vector<std::int64_t>> first_last_;  // steps that use a placement, in order
  std::array<std::map<std::int64_t, std::pair<BufferId, std::int64_t>>, 2> tier_ranges_;  // by tier
  std::map<BufferId, TierPlace> away_;                                                    // between steps
  std::vector<std::int64_t> workspaces_;                                                  // by step
};

}  // namespace

std::vector<std::string> verify_plan(const Program& program, const Plan& plan) {
  return Verifier(program, plan).run();
}

}  // namespace vdnn
