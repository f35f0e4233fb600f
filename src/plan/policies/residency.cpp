#include "plan/policies/residency.h"

#include <algorithm>
#include <queue>

#include "plan/byte_profile.h"
#include "plan/far_buffers.h"
#include "plan/policies/movement_times.h"
#include "plan/policies/recomputation_set.h"

namespace vdnn {
namespace {

constexpr double kLeastCost = 1e-9;
// An option is taken before others that may be worth a little more, rather than all being looked at again.
constexpr double kGoodEnough = 0.9;

}  // namespace

// For one limit.
class ResidencyPlanner::Search {
 public:
  Search(const ResidencyProblem& problem, const Limits& limits, const std::vector<double>& stall_seconds)
      : p_(problem),
        stall_seconds_(stall_seconds),
        limit_(limits.needed_bytes),
        ahead_limit_(limits.ahead_bytes),
        hidden_share_(limits.hidden_share),
        kept_(limits.kept),
        copied_(limits.copied),
        assignment_(problem.fastest),
        needed_(with_workspaces(problem, assignment_)),
        away_(problem.gaps.all.size(), false),
        near_free_bytes_(problem.links.near_capacity_bytes),
        near_gaps_(problem.program.buffers.size(), 0),
        is_near_(problem.gaps.all.size(), false) {}

  Result run() {
    relieve();
    take_back();
    Launches with_recomputations = add_recomputations();
    Decisions decisions{.launches = p_.launches, .movements = absences()};
    decisions.far_buffers = choose_far_buffers(
        p_.program, decisions.movements, p_.links.near_capacity_bytes, [&](const Movement& movement) {
          const double round = movement.goes_round ? p_.start(p_.count) : 0;
          return p_.start(movement.prefetch_with) + round - p_.start(movement.offload_with);
        });
    time_copies(decisions);
    return {std::move(decisions), std::move(assignment_), std::move(with_recomputations)};
  }

  // Everything that can be away, and the least workspace.
  std::int64_t with_all_away() {
    for (std::size_t g = 0; g < away_.size(); ++g) set_away(g, true);
    std::int64_t most = 0;
    for (std::int32_t l = 0; l < p_.count; ++l) {
      const KernelId kernel = p_.kernel_of(l);
      std::int64_t least = workspace(kernel);
      for (int c = 0; c < candidates(kernel); ++c) least = std::min(least, p_.workspace_bytes(kernel, c));
      most = std::max(most, needed_.at(l) - workspace(kernel) + least);
    }
    return most;
  }

 private:
  // A gap, or a candidate of a kernel.
  struct Option {
    double worth = 0;  // bytes x kernels relieved, by second of cost
    std::int32_t gap = -1;
    KernelId kernel;
    int candidate = 0;
    friend bool operator<(const Option& a, const Option& b) { return a.worth < b.worth; }
  };

  static std::vector<std::int64_t> with_workspaces(const ResidencyProblem& problem,
                                                   const std::vector<int>& assignment) {
    std::vector<std::int64_t> bytes = problem.resident;
    for (std::size_t l = 0; l < bytes.size(); ++l) {
      const KernelId kernel = problem.launches[l];
      bytes[l] += problem.workspace_bytes(kernel, assignment[kernel.index()]);
    }
    return bytes;
  }
  [[nodiscard]] std::int64_t over(std::int32_t launch) const {
    return std::max<std::int64_t>(0, needed_.at(launch) - limit_);
  }
  [[nodiscard]] int candidate(KernelId kernel) const { return assignment_[kernel.index()]; }
  [[nodiscard]] std::int64_t workspace(KernelId kernel) const {
    return p_.workspace_bytes(kernel, candidate(kernel));
  }
  [[nodiscard]] int candidates(KernelId kernel) const {
    return p_.fixed ? 0 : static_cast<int>(p_.program.kernel(kernel).candidates.size());
  }
  [[nodiscard]] const std::vector<std::int32_t>& launches_of(KernelId kernel) const {
    return p_.launches_of[kernel.index()];
  }
  [[nodiscard]] const Gap& gap(std::size_t g) const { return p_.gaps.all[g]; }
  [[nodiscard]] const BufferGaps& gaps_of(const Gap& gap) const {
    return p_.gaps.of_buffer[gap.buffer.index()];
  }

  // The gap between steps that must be taken with this one; -1: none, or taken already.
  [[nodiscard]] std::int32_t also_needed(std::size_t g) const {
    const BufferGaps& range = gaps_of(gap(g));
    if (!range.goes_round || static_cast<std::int32_t>(g) == range.end - 1) return -1;
    return away_[static_cast<std::size_t>(range.end - 1)] ? -1 : range.end - 1;
  }

  // False where the tier has the buffer's value from an earlier gap.
  [[nodiscard]] bool copies_out(std::size_t g) const {
    const BufferGaps& range = gaps_of(gap(g));
    const bool was_away = range.goes_round && away_[static_cast<std::size_t>(range.end - 1)];
    if (gap(g).final_at < 0) return !(was_away || p_.goes_round(gap(g)));
    for (auto other = range.first; other < static_cast<std::int32_t>(g); ++other) {
      const auto index = static_cast<std::size_t>(other);
      if (away_[index] && gap(index).final_at == gap(g).final_at) return false;
    }
    return true;
  }

  // Seconds that a gap costs, the cheaper way.
  [[nodiscard]] double cost(std::size_t g) const {
    constexpr double kAlmostNever = 1e6;
    return (is_recomputed(g) ? p_.recomputations[g]->seconds : cost_of_copies(g)) +
           (gap(g).buffer == kept_ ? kAlmostNever : 0);
  }
  [[nodiscard]] bool is_recomputed(std::size_t g) const {
    return p_.recomputations[g] && gap(g).buffer != copied_ &&
           p_.recomputations[g]->seconds < cost_of_copies(g);
  }

  [[nodiscard]] double cost_of_copies(std::size_t g) const {
    return std::max(kLeastCost, p_.copy_cost(gap(g), copies_out(g), tier_of(g)).seconds(hidden_share_) +
                                    stall_seconds_[gap(g).buffer.index()]);
  }

  // Where the gap's buffer would find a place: what was taken before has the nearest tier first.
  [[nodiscard]] TierLevel tier_of(std::size_t g) const {
    const auto has_place = near_gaps_[gap(g).buffer.index()] > 0;
    return has_place || gap(g).bytes <= near_free_bytes_ ? TierLevel::near : TierLevel::far;
  }

  [[nodiscard]] double relief(std::size_t g) const {
    double bytes = 0;
    p_.for_each_range(gap(g), [&](std::int32_t begin, std::int32_t end) {
      bytes += needed_.clipped_sum(begin, end, limit_, gap(g).bytes);
    });
    return bytes;
  }

  [[nodiscard]] double worth(const Option& option) const {
    if (option.gap >= 0) {
      const auto g = static_cast<std::size_t>(option.gap);
      if (away_[g]) return 0;
      const auto also = also_needed(g);
      const double more = also >= 0 ? relief(static_cast<std::size_t>(also)) : 0;
      const double dearer = also >= 0 ? cost(static_cast<std::size_t>(also)) : 0;
      return (relief(g) + more) / (cost(g) + dearer);
    }
    const std::int64_t less = workspace(option.kernel) - p_.workspace_bytes(option.kernel, option.candidate);
    const double dearer = p_.candidate(option.kernel, option.candidate).seconds -
                          p_.candidate(option.kernel, candidate(option.kernel)).seconds;
    double relieved = 0;
    for (const auto launch : launches_of(option.kernel))
      relieved += static_cast<double>(std::clamp<std::int64_t>(less, 0, over(launch)));
    return relieved / std::max(kLeastCost, dearer * static_cast<double>(launches_of(option.kernel).size()));
  }

  void relieve() {
    std::priority_queue<Option> queue;
    const auto push = [&](Option option) {
      option.worth = worth(option);
      if (option.worth > 0) queue.push(option);
    };
    for (std::size_t g = 0; g < away_.size(); ++g) push({.gap = static_cast<std::int32_t>(g)});
    for (std::size_t k = 0; k < assignment_.size(); ++k) {
      for (int c = 0; c < candidates(KernelId(k)); ++c) push({.kernel = KernelId(k), .candidate = c});
    }
    // What an option relieves only shrinks as others are taken, so an old worth is an upper bound.
    while (!queue.empty()) {
      Option best = queue.top();
      queue.pop();
      const double now = worth(best);
      if (now <= 0) continue;
      if (!queue.empty() && now < kGoodEnough * queue.top().worth) {
        best.worth = now;
        queue.push(best);
        continue;
      }
      take(best);
    }
  }

  void take(const Option& option) {
    if (option.gap < 0) return set_candidate(option.kernel, option.candidate);
    const auto g = static_cast<std::size_t>(option.gap);
    if (const auto also = also_needed(g); also >= 0) set_away(static_cast<std::size_t>(also), true);
    set_away(g, true);
  }

  void set_candidate(KernelId kernel, int next) {
    const std::int64_t more = p_.workspace_bytes(kernel, next) - workspace(kernel);
    for (const auto launch : launches_of(kernel)) needed_.add(launch, launch + 1, more);
    assignment_[kernel.index()] = next;
  }

  // Gaps that are copied take place in the nearest tier while there is some.
  void count_in_tier(std::size_t g, bool away) {
    if (away) {
      if (is_recomputed(g) || tier_of(g) == TierLevel::far) return;
      is_near_[g] = true;
      if (near_gaps_[gap(g).buffer.index()]++ == 0) near_free_bytes_ -= gap(g).bytes;
    } else if (is_near_[g]) {
      is_near_[g] = false;
      if (--near_gaps_[gap(g).buffer.index()] == 0) near_free_bytes_ += gap(g).bytes;
    }
  }

  void set_away(std::size_t g, bool away) {
    if (away_[g] == away) return;
    count_in_tier(g, away);
    away_[g] = away;
    const std::int64_t bytes = away ? -gap(g).bytes : gap(g).bytes;
    p_.for_each_range(gap(g), [&](std::int32_t begin, std::int32_t end) { needed_.add(begin, end, bytes); });
  }

  [[nodiscard]] bool is_needed(std::size_t g) const {
    const BufferGaps& range = gaps_of(gap(g));
    if (p_.goes_round(gap(g))) {
      for (auto other = range.first; other + 1 < range.end; ++other) {
        if (away_[static_cast<std::size_t>(other)]) return true;
      }
    }
    bool needed = false;
    p_.for_each_range(gap(g), [&](std::int32_t begin, std::int32_t end) {
      needed |= needed_.most(begin, end) + gap(g).bytes > limit_;
    });
    return needed;
  }

  // The dearest first.
  void take_back() {
    std::vector<std::pair<double, std::size_t>> taken;
    for (std::size_t g = 0; g < away_.size(); ++g) {
      if (away_[g]) taken.emplace_back(-cost(g), g);
    }
    std::sort(taken.begin(), taken.end());
    for (int pass = 0; pass < 2; ++pass) {  // a gap between steps may go once those in the step are gone
      for (const auto& one : taken) {
        const std::size_t g = one.second;
        if (!away_[g] || is_needed(g)) continue;
        set_away(g, false);
      }
    }
    for (std::size_t k = 0; k < assignment_.size(); ++k) take_faster(KernelId(k));
  }

  void take_faster(KernelId kernel) {
    const int fastest = p_.fastest[kernel.index()];
    if (candidate(kernel) == fastest) return;
    const auto fits = [&](int c) {
      const std::int64_t more = p_.workspace_bytes(kernel, c) - workspace(kernel);
      const auto& launches = launches_of(kernel);
      return std::all_of(launches.begin(), launches.end(),
                         [&](auto launch) { return needed_.at(launch) + more <= limit_; });
    };
    int best = candidate(kernel);
    for (int c = 0; c < candidates(kernel); ++c) {
      const double seconds = p_.candidate(kernel, c).seconds;
      if (fits(c) && seconds > 0 && seconds < p_.candidate(kernel, best).seconds) best = c;
    }
    set_candidate(kernel, fits(fastest) ? fastest : best);
  }

  // The launches with those kernels once more that recompute what costs least so.
  [[nodiscard]] Launches add_recomputations() const {
    std::vector<std::pair<double, std::size_t>> wanted;
    for (std::size_t g = 0; g < away_.size(); ++g) {
      if (away_[g] && is_recomputed(g))
        wanted.emplace_back(p_.recomputations[g]->seconds - cost_of_copies(g), g);
    }
    std::sort(wanted.begin(), wanted.end());
    RecomputationSet chosen(p_);
    for (const auto& one : wanted) chosen.add(one.second);
    return chosen.launches();
  }

  // What is away, as late as final and as early as needed.
  [[nodiscard]] std::vector<Movement> absences() const {
    std::vector<Movement> all;
    for (std::size_t g = 0; g < away_.size(); ++g) {
      if (!away_[g]) continue;
      const Gap& one = gap(g);
      all.push_back({.buffer = one.buffer,
                     .copies_out = copies_out(g),
                     .goes_round = p_.goes_round(one),
                     .offload_with = one.final_at + 1,
                     .release = one.from + 1,
                     .prefetch_with = p_.goes_round(one) ? one.to - p_.count : one.to});
    }
    return all;
  }

  void time_copies(Decisions& decisions) {
    auto& all = decisions.movements;
    spread_movements(p_, decisions.far_buffers, ahead_limit_, needed_, all);
    std::stable_sort(all.begin(), all.end(),
                     [](const auto& a, const auto& b) { return a.prefetch_with < b.prefetch_with; });
  }

  const ResidencyProblem& p_;
  const std::vector<double>& stall_seconds_;  // by buffer
  std::int64_t limit_;
  std::int64_t ahead_limit_;
  double hidden_share_;
  BufferId kept_;
  BufferId copied_;
  std::vector<int> assignment_;
  ByteProfile needed_;      // by kernel
  std::vector<bool> away_;  // by gap
  std::int64_t near_free_bytes_;
  std::vector<std::int32_t> near_gaps_;  // by buffer: those of its gaps that made it take place there
  std::vector<bool> is_near_;            // by gap
};

ResidencyPlanner::ResidencyPlanner(const PlanProblem& problem, Launches launches)
    : problem_(std::make_unique<ResidencyProblem>(problem, std::move(launches))) {}
ResidencyPlanner::~ResidencyPlanner() = default;

ResidencyPlanner::Result ResidencyPlanner::plan(const Limits& limits,
                                                const std::vector<double>& stall_seconds) const {
  return Search(*problem_, limits, stall_seconds).run();
}

std::int64_t ResidencyPlanner::most_bytes() const {
  std::int64_t most = 0;
  for (std::int32_t l = 0; l < problem_->count; ++l) {
    const KernelId kernel = problem_->kernel_of(l);
    most = std::max(most, problem_->resident[static_cast<std::size_t>(l)] +
                              problem_->workspace_bytes(kernel, problem_->fastest[kernel.index()]));
  }
  return most;
}

std::int64_t ResidencyPlanner::least_bytes() const {
  const std::vector<double> no_stalls(problem_->program.buffers.size(), 0);
  return Search(*problem_, {}, no_stalls).with_all_away();
}

}  // namespace vdnn
