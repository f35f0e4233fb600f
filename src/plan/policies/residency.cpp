#include "plan/policies/residency.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <queue>

#include "plan/byte_profile.h"
#include "plan/gaps.h"
#include "vdnn/bytes.h"

namespace vdnn {
namespace {

// A copy beside kernels still costs: it slows them and takes the link from others.
constexpr double kHiddenShare = 0.2;
constexpr double kLeastCost = 1e-9;

}  // namespace

// What does not hang on the limit.
class ResidencyPlanner::Problem {
 public:
  explicit Problem(const PlanProblem& problem)
      : program(problem.program),
        links(problem.request.links),
        gaps(find_gaps(problem.program, problem.uses)),
        kernels(static_cast<std::int32_t>(problem.program.kernels.size())),
        fixed(problem.request.assignment.has_value()),
        fastest(start_from(problem, Algorithms::performance)) {
    find_resident(problem.uses);
    find_starts();
  }

  [[nodiscard]] std::int64_t workspace(std::int32_t kernel, int candidate) const {
    return round_up(candidate_of(kernel, candidate).workspace_bytes, 64);
  }
  [[nodiscard]] const Candidate& candidate_of(std::int32_t kernel, int candidate) const {
    return program.kernels[static_cast<std::size_t>(kernel)].candidates[static_cast<std::size_t>(candidate)];
  }
  [[nodiscard]] double out_seconds(std::int64_t bytes) const {
    return static_cast<double>(bytes) / links.offload_bytes_per_s;
  }
  [[nodiscard]] double in_seconds(std::int64_t bytes) const {
    return static_cast<double>(bytes) / links.prefetch_bytes_per_s;
  }
  [[nodiscard]] double start(std::int32_t kernel) const { return starts[static_cast<std::size_t>(kernel)]; }
  // The ranges of kernels in which the buffer need not be resident: one, or one at either end of the step.
  template <class Visit>
  void for_each_range(const Gap& gap, Visit&& visit) const {
    visit(gap.from + 1, std::min(gap.to, kernels));
    if (goes_round(gap)) visit(0, gap.to - kernels);
  }
  [[nodiscard]] bool goes_round(const Gap& gap) const { return gap.to >= kernels; }

  const Program& program;
  Links links;
  Gaps gaps;
  std::int32_t kernels;
  bool fixed;
  std::vector<int> fastest;
  std::vector<std::int64_t> resident;  // by kernel: bytes with nothing away, without workspace
  std::vector<double> starts;          // by kernel, and the end: seconds with no stalls

 private:
  void find_resident(const Uses& uses) {
    std::vector<std::int64_t> change(static_cast<std::size_t>(kernels) + 1, 0);
    for (std::size_t b = 0; b < program.buffers.size(); ++b) {
      const Buffer& buffer = program.buffers[b];
      if (!buffer.persistent && uses[b].empty()) continue;
      const auto begin = buffer.persistent ? 0 : uses[b].front().kernel;
      const auto end = buffer.persistent || buffer.result ? kernels : uses[b].back().kernel + 1;
      change[static_cast<std::size_t>(begin)] += buffer.placed_bytes();
      change[static_cast<std::size_t>(end)] -= buffer.placed_bytes();
    }
    std::partial_sum(change.begin(), change.end(), change.begin());
    change.pop_back();
    resident = std::move(change);
  }

  void find_starts() {
    starts = {0};
    for (std::int32_t k = 0; k < kernels; ++k)
      starts.push_back(starts.back() + candidate_of(k, fastest[static_cast<std::size_t>(k)]).seconds);
    if (starts.back() > 0) return;
    constexpr double kAssumedSeconds = 1e-3;  // of kernels that were not measured
    for (std::size_t k = 0; k < starts.size(); ++k) starts[k] = kAssumedSeconds * static_cast<double>(k);
  }
};

// For one limit.
class ResidencyPlanner::Search {
 public:
  Search(const Problem& problem, std::int64_t limit_bytes, const std::vector<double>& stall_seconds)
      : p_(problem),
        stall_seconds_(stall_seconds),
        limit_(limit_bytes),
        assignment_(problem.fastest),
        needed_(with_workspaces(problem, assignment_)),
        away_(problem.gaps.all.size(), false) {}

  Result run() {
    relieve();
    take_back();
    return {{.movements = movements()}, std::move(assignment_)};
  }

  // Everything that can be away, and the least workspace.
  std::int64_t with_all_away() {
    for (std::size_t g = 0; g < away_.size(); ++g) set_away(g, true);
    std::int64_t most = 0;
    for (std::int32_t k = 0; k < p_.kernels; ++k) {
      std::int64_t least = p_.workspace(k, candidate(k));
      for (int c = 0; c < candidates(k); ++c) least = std::min(least, p_.workspace(k, c));
      most = std::max(most, needed_.at(k) - p_.workspace(k, candidate(k)) + least);
    }
    return most;
  }

 private:
  // A gap, or a candidate of a kernel.
  struct Option {
    double worth = 0;  // bytes x kernels relieved, by second of cost
    std::int32_t gap = -1;
    std::int32_t kernel = -1;
    int candidate = 0;
    friend bool operator<(const Option& a, const Option& b) { return a.worth < b.worth; }
  };

  static std::vector<std::int64_t> with_workspaces(const Problem& problem,
                                                   const std::vector<int>& assignment) {
    std::vector<std::int64_t> bytes = problem.resident;
    for (std::size_t k = 0; k < bytes.size(); ++k)
      bytes[k] += problem.workspace(static_cast<std::int32_t>(k), assignment[k]);
    return bytes;
  }
  [[nodiscard]] std::int64_t over(std::int32_t kernel) const {
    return std::max<std::int64_t>(0, needed_.at(kernel) - limit_);
  }
  [[nodiscard]] int candidate(std::int32_t kernel) const {
    return assignment_[static_cast<std::size_t>(kernel)];
  }
  [[nodiscard]] int candidates(std::int32_t kernel) const {
    if (p_.fixed) return 0;
    return static_cast<int>(p_.program.kernels[static_cast<std::size_t>(kernel)].candidates.size());
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

  // Seconds: what no kernel hides, and a share of the rest.
  [[nodiscard]] double cost(std::size_t g) const {
    const Gap& one = gap(g);
    const double out = copies_out(g) ? p_.out_seconds(one.bytes) : 0;
    const double in = p_.in_seconds(one.bytes);
    double unhidden = 0;
    if (p_.goes_round(one)) {
      unhidden = std::max(0.0, out - (p_.start(p_.kernels) - p_.start(one.from + 1))) +
                 std::max(0.0, in - p_.start(one.to - p_.kernels));
    } else {
      unhidden = std::max(0.0, out + in - (p_.start(one.to) - p_.start(one.from + 1)));
    }
    return std::max(kLeastCost, unhidden + kHiddenShare * (out + in) + stall_seconds_[one.buffer.index()]);
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
    const std::int64_t less =
        p_.workspace(option.kernel, candidate(option.kernel)) - p_.workspace(option.kernel, option.candidate);
    const double dearer = p_.candidate_of(option.kernel, option.candidate).seconds -
                          p_.candidate_of(option.kernel, candidate(option.kernel)).seconds;
    return static_cast<double>(std::clamp<std::int64_t>(less, 0, over(option.kernel))) /
           std::max(kLeastCost, dearer);
  }

  void relieve() {
    std::priority_queue<Option> queue;
    const auto push = [&](Option option) {
      option.worth = worth(option);
      if (option.worth > 0) queue.push(option);
    };
    for (std::size_t g = 0; g < away_.size(); ++g) push({.gap = static_cast<std::int32_t>(g)});
    for (std::int32_t k = 0; k < p_.kernels; ++k) {
      for (int c = 0; c < candidates(k); ++c) push({.kernel = k, .candidate = c});
    }
    // What an option relieves only shrinks as others are taken, so an old worth is an upper bound.
    while (!queue.empty()) {
      Option best = queue.top();
      queue.pop();
      const double now = worth(best);
      if (now <= 0) continue;
      if (!queue.empty() && now < queue.top().worth) {
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

  void set_candidate(std::int32_t kernel, int next) {
    needed_.add(kernel, kernel + 1, p_.workspace(kernel, next) - p_.workspace(kernel, candidate(kernel)));
    assignment_[static_cast<std::size_t>(kernel)] = next;
  }

  void set_away(std::size_t g, bool away) {
    if (away_[g] == away) return;
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
    for (std::int32_t k = 0; k < p_.kernels; ++k) {
      const int fastest = p_.fastest[static_cast<std::size_t>(k)];
      if (candidate(k) == fastest) continue;
      const auto fits = [&](int c) {
        return needed_.at(k) - p_.workspace(k, candidate(k)) + p_.workspace(k, c) <= limit_;
      };
      int best = candidate(k);
      for (int c = 0; c < candidates(k); ++c) {
        const double seconds = p_.candidate_of(k, c).seconds;
        if (fits(c) && seconds > 0 && seconds < p_.candidate_of(k, best).seconds) best = c;
      }
      set_candidate(k, fits(fastest) ? fastest : best);
    }
  }

  // Takes the bytes at the kernel where they are within the limit.
  bool take_room(std::int32_t kernel, std::int64_t bytes) {
    if (needed_.at(kernel) + bytes > limit_) return false;
    needed_.add(kernel, kernel + 1, bytes);
    return true;
  }

  // When each absence begins and ends: prefetches as late as their deadlines and the link allow, but a kernel
  // earlier; releases when the copy out should have ended. Both only as far as there is room.
  std::vector<Movement> movements() {
    std::vector<Movement> all;
    for (std::size_t g = 0; g < away_.size(); ++g) {
      if (!away_[g]) continue;
      const Gap& one = gap(g);
      all.push_back({.buffer = one.buffer,
                     .copies_out = copies_out(g),
                     .goes_round = p_.goes_round(one),
                     .offload_with = one.final_at + 1,
                     .release = one.from + 1,
                     .prefetch_with = p_.goes_round(one) ? one.to - p_.kernels : one.to});
    }
    start_prefetches(all);
    release_later(all);
    std::stable_sort(all.begin(), all.end(),
                     [](const auto& a, const auto& b) { return a.prefetch_with < b.prefetch_with; });
    return all;
  }

  // Positions in the list, by an order of movements.
  template <class Before>
  static std::vector<std::size_t> sorted(const std::vector<Movement>& all, const Before& before) {
    std::vector<std::size_t> order(all.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return before(all[a], all[b]); });
    return order;
  }

  void start_prefetches(std::vector<Movement>& all) {
    double link_free_until = p_.start(p_.kernels);
    for (const auto i :
         sorted(all, [](const auto&a, const auto&b) { return a.prefetch_with > b.prefetch_with; })) {
      Movement& movement = all[i];
      const std::int64_t bytes = p_.program.buffer(movement.buffer).placed_bytes();
      const double end = std::min(link_free_until, p_.start(movement.prefetch_with));
      const double start = end - p_.in_seconds(bytes);
      const std::int32_t earliest = movement.goes_round ? 0 : movement.release + 1;
      std::int32_t& with = movement.prefetch_with;
      while (with > earliest && p_.start(with) > start && take_room(with - 1, bytes)) --with;
      link_free_until = std::min(end, std::max(start, p_.start(with)));
    }
  }

  void release_later(std::vector<Movement>& all) {
    double link_busy_until = 0;
    for (const auto i :
         sorted(all, [](const auto&a, const auto&b) { return a.offload_with < b.offload_with; })) {
      Movement& movement = all[i];
      if (!movement.copies_out) continue;
      const std::int64_t bytes = p_.program.buffer(movement.buffer).placed_bytes();
      const double end = std::max(link_busy_until, p_.start(movement.offload_with)) + p_.out_seconds(bytes);
      link_busy_until = end;
      const std::int32_t latest = movement.goes_round ? p_.kernels : movement.prefetch_with - 1;
      std::int32_t& release = movement.release;
      while (release < latest && p_.start(release) < end && take_room(release, bytes)) ++release;
    }
  }

  const Problem& p_;
  const std::vector<double>& stall_seconds_;  // by buffer
  std::int64_t limit_;
  std::vector<int> assignment_;
  ByteProfile needed_;      // by kernel
  std::vector<bool> away_;  // by gap
};

ResidencyPlanner::ResidencyPlanner(const PlanProblem& problem)
    : problem_(std::make_unique<Problem>(problem)) {}
ResidencyPlanner::~ResidencyPlanner() = default;

ResidencyPlanner::Result ResidencyPlanner::plan(std::int64_t limit_bytes,
                                                const std::vector<double>& stall_seconds) const {
  return Search(*problem_, limit_bytes, stall_seconds).run();
}

std::int64_t ResidencyPlanner::most_bytes() const {
  std::int64_t most = 0;
  for (std::int32_t k = 0; k < problem_->kernels; ++k) {
    const auto index = static_cast<std::size_t>(k);
    most = std::max(most, problem_->resident[index] + problem_->workspace(k, problem_->fastest[index]));
  }
  return most;
}

std::int64_t ResidencyPlanner::least_bytes() const {
  const std::vector<double> no_stalls(problem_->program.buffers.size(), 0);
  return Search(*problem_, 0, no_stalls).with_all_away();
}

}  // namespace vdnn
