#include <algorithm>
#include <cmath>
#include <set>

#include "base/parallel_for.h"
#include "plan/live_bytes.h"
#include "plan/policies/policies.h"
#include "plan/policies/residency.h"
#include "plan/policies/vdnn_offload.h"
#include "plan/schedule.h"
#include "vdnn/bytes.h"
#include "vdnn/timeline.h"

namespace vdnn {
namespace {

// Kernels; larger programs are improved less often, to be planned in about a second.
constexpr std::size_t kSmallProgram = 700;

constexpr std::size_t kTinyProgram = 40;

// Larger programs get fewer, for the same reason.
std::size_t rungs_for(std::size_t kernels) {
  if (kernels <= kTinyProgram) return 32;
  return kernels <= kSmallProgram ? 24 : 16;
}

struct Candidate {
  std::string name;
  Decisions decisions{};
  std::vector<int> assignment;
  std::int64_t live_bytes = 0;  // at their peak: no packing is lower
  std::int64_t peak_bytes = 0;  // 0: not packed
  double seconds = 0;
};

// Plans for one limit, or those of the paper's policies: the best that fits, and all that do not.
class Rung {
 public:
  explicit Rung(const PlanProblem& problem)
      : problem_(problem), small_(problem.program.kernels.size() <= kSmallProgram) {}

  void climb(const ResidencyPlanner& planner, std::int64_t limit) {
    const std::string name = "limit " + format_bytes(limit);
    climb(planner, limit, kHiddenShare, name);
    // The links to a tier that not all goes to are seldom idle: a copy delays others, whatever hides it.
    if (small_ && problem_.request.links.near_capacity_bytes != Links{}.near_capacity_bytes)
      climb(planner, limit, 1, name + ", with dear copies");
  }

  // Plans for a limit, and again with what kernels waited for as a cost of those buffers' absences.
  void climb(const ResidencyPlanner& planner, std::int64_t limit, double hidden_share,
             const std::string& name) {
    std::vector<double> stall_seconds(problem_.program.buffers.size(), 0);
    const ResidencyPlanner::Limits limits = {
        .needed_bytes = limit, .ahead_bytes = limit, .hidden_share = hidden_share};
    const int rounds = small_ ? 4 : 2;
    for (int round = 0; round < rounds; ++round) {
      auto [decisions, assignment, with_recomputations] = planner.plan(limits, stall_seconds);
      if (small_ || round + 1 == rounds)
        recompute(name + ", recomputing", limits, std::move(with_recomputations), stall_seconds);
      if (!consider({name, std::move(decisions), std::move(assignment)}, &stall_seconds)) break;
    }
    // Packs better where not every moment is full.
    if (!small_) return;
    ResidencyPlanner::Limits slack = limits;
    slack.ahead_bytes -= limit / 16;
    consider(name + ", with slack", planner.plan(slack, stall_seconds));
  }

  // Of tiny programs, other plans for a limit: with copies that cost less, and with one buffer after the
  // other that was away kept, or copied, instead.
  void vary(const ResidencyPlanner& planner, std::int64_t limit) {
    const std::string name = "limit " + format_bytes(limit) + ", varied";
    const std::vector<double> no_stalls(problem_.program.buffers.size(), 0);
    for (const double hidden_share : {0.2, 0.01}) {
      const auto plan_within = [&](const ResidencyPlanner::Limits& limits) {
        auto result = planner.plan(limits, no_stalls);
        std::set<BufferId> away;
        for (const auto& movement : result.decisions.movements) away.insert(movement.buffer);
        recompute(name, limits, std::move(result.with_recomputations), no_stalls);
        consider(name, std::move(result));
        return away;
      };
      for (const auto buffer : plan_within({limit, limit, hidden_share})) {
        plan_within(
            {.needed_bytes = limit, .ahead_bytes = limit, .hidden_share = hidden_share, .kept = buffer});
        plan_within(
            {.needed_bytes = limit, .ahead_bytes = limit, .hidden_share = hidden_share, .copied = buffer});
      }
    }
  }

  // Whatever the budget, the least that can be planned for.
  void climb_down(const ResidencyPlanner& planner) {
    const std::vector<double> no_stalls(problem_.program.buffers.size(), 0);
    for (const std::int64_t limit : {std::int64_t{0}, planner.least_bytes()})
      consider("as lean as can be", planner.plan({.needed_bytes = limit, .ahead_bytes = 0}, no_stalls));
  }

  void take_paper_policies() {
    for (const auto layers : {OffloadedLayers::convolution, OffloadedLayers::feature_extraction}) {
      for (const auto algorithms : {Algorithms::performance, Algorithms::memory}) {
        consider({.name = "as the paper's policies",
                  .decisions = offload_inputs(problem_, layers),
                  .assignment = start_from(problem_, algorithms)});
      }
    }
  }

  // Takes the candidate where it is the best that fits. Adds to the stalls what kernels would wait for; false
  // where they wait for nothing, or nobody asks.
  bool consider(Candidate candidate, std::vector<double>* stall_seconds = nullptr) {
    Schedule schedule = make_schedule(problem_, candidate.decisions, candidate.assignment);
    Plan plan{.assignment = candidate.assignment,
              .steps = std::move(schedule.steps),
              .placements = std::move(schedule.placements)};
    const bool waits = stall_seconds != nullptr && add_stalls(plan, *stall_seconds);
    const auto live = live_bytes_by_step(plan.placements, plan.steps.size());
    candidate.live_bytes = *std::max_element(live.begin(), live.end());
    if (candidate.live_bytes <= problem_.request.budget_bytes)
      candidate.peak_bytes = place_in(plan, pack_lowest);
    if (candidate.peak_bytes == 0 || candidate.peak_bytes > problem_.request.budget_bytes) {
      too_large_.push_back(std::move(candidate));
      return waits;
    }
    candidate.seconds = simulated(plan).step_seconds;
    if (!best_ || is_better(candidate, *best_)) best_ = std::move(candidate);
    return waits;
  }

  static bool is_better(const Candidate& a, const Candidate& b) {
    return a.seconds < b.seconds || (a.seconds == b.seconds && a.peak_bytes < b.peak_bytes);
  }

  [[nodiscard]] const std::optional<Candidate>& best() const { return best_; }
  [[nodiscard]] std::vector<Candidate>& too_large() { return too_large_; }

 private:
  void consider(std::string name, ResidencyPlanner::Result result) {
    consider({std::move(name), std::move(result.decisions), std::move(result.assignment)});
  }

  // Plans with kernels launched again, and again for what that leaves.
  void recompute(const std::string& name, const ResidencyPlanner::Limits& limits, Launches launches,
                 const std::vector<double>& stall_seconds) {
    const int depth = small_ ? 3 : 1;
    for (int i = 0; i < depth && !launches.empty(); ++i) {
      auto result = ResidencyPlanner(problem_, std::move(launches)).plan(limits, stall_seconds);
      launches = std::move(result.with_recomputations);
      consider(name, std::move(result));
    }
  }

  std::int64_t place_in(Plan& plan, Pack pack) const {
    return place(problem_.program, plan.placements, std::ssize(plan.steps), pack);
  }
  [[nodiscard]] Simulation simulated(Plan& plan) const {
    order_accesses(problem_.program, plan.steps, plan.placements);
    return simulate(problem_.program, plan, problem_.request.links);
  }

  // Packed quickly: whether the candidate fits must not matter, or plans would hang on the budget.
  bool add_stalls(Plan plan, std::vector<double>& stall_seconds) const {
    place_in(plan, pack_quickly);
    const Simulation simulation = simulated(plan);
    bool any = false;
    for (const auto& [buffer, seconds] : seconds_waited_for_copies(plan, simulation.step_nanoseconds)) {
      stall_seconds[buffer.index()] += seconds;
      any = true;
    }
    return any;
  }

  const PlanProblem& problem_;
  bool small_;
  std::optional<Candidate> best_;  // that fits
  std::vector<Candidate> too_large_;
};

// Plans for a ladder of limits that does not hang on the budget, and the plans of the paper's policies;
// answers with the fastest whose peak fits, of equals with the lowest peak. So a larger budget never gives a
// slower plan, and a smaller one never a higher peak (docs/planner.md).
class LadderSearch {
 public:
  explicit LadderSearch(const PlanProblem& problem) : problem_(problem) {}

  PlanResult run() {
    Rung all_resident(problem_);
    all_resident.consider(
        {.name = "everything resident", .assignment = start_from(problem_, Algorithms::performance)});
    // Nothing could be faster, and nothing moves (P5).
    if (all_resident.best()) return finished(*all_resident.best());

    const ResidencyPlanner planner(problem_, each_once(problem_.program));
    const std::vector<std::int64_t> limits = limits_of_rungs(planner);
    std::vector<Rung> rungs(limits.size() + 2, Rung(problem_));
    // The rungs know nothing of each other, so that they may be climbed side by side.
    parallel_for(rungs.size(), [&](std::size_t i) {
      if (i < limits.size()) {
        rungs[i].climb(planner, limits[i]);
        if (problem_.program.kernels.size() <= kTinyProgram) rungs[i].vary(planner, limits[i]);
        return;
      }
      return i == limits.size() ? rungs[i].climb_down(planner) : rungs[i].take_paper_policies();
    });
    const Candidate* best = nullptr;
    std::vector<Candidate> too_large;
    for (auto& rung : rungs) {
      if (rung.best() && (best == nullptr || Rung::is_better(*rung.best(), *best))) best = &*rung.best();
      std::move(rung.too_large().begin(), rung.too_large().end(), std::back_inserter(too_large));
    }
    if (best != nullptr) return finished(*best);
    return leanest(std::move(too_large));
  }

 private:
  // Evenly spread by ratio.
  [[nodiscard]] std::vector<std::int64_t> limits_of_rungs(const ResidencyPlanner& planner) const {
    const auto least = static_cast<double>(std::max<std::int64_t>(1, planner.least_bytes()));
    const auto most = static_cast<double>(planner.most_bytes());
    const std::size_t rungs = rungs_for(problem_.program.kernels.size());
    std::vector<std::int64_t> all;
    for (std::size_t i = 0; i < rungs; ++i) {
      const double share = static_cast<double>(i) / static_cast<double>(rungs - 1);
      all.push_back(static_cast<std::int64_t>(least * std::pow(most / least, share)));
    }
    return all;
  }

  PlanResult finished(const Candidate& best) {
    PlanResult result = plan_decisions(problem_, best.decisions, best.assignment);
    result.plan->passes = {{.name = best.name, .peak_bytes = best.peak_bytes, .fits = true}};
    remember_choices(problem_, best.decisions, start_from(problem_, Algorithms::performance), *result.plan);
    return result;
  }

  // Of all that do not fit, the one with the lowest peak.
  PlanResult leanest(std::vector<Candidate> all) {
    std::stable_sort(all.begin(), all.end(),
                     [](const auto& a, const auto& b) { return a.live_bytes < b.live_bytes; });
    PlanResult least;
    for (const auto& candidate : all) {
      if (least.infeasible && candidate.live_bytes >= least.infeasible->least_budget_bytes) break;
      PlanResult result = plan_decisions(problem_, candidate.decisions, candidate.assignment);
      if (!least.infeasible || result.infeasible->least_budget_bytes < least.infeasible->least_budget_bytes)
        least = std::move(result);
    }
    return least;
  }

  const PlanProblem& problem_;
};

PlanResult plan(const PlanProblem& problem) {
  return LadderSearch(problem).run();
}

}  // namespace

const Policy kAuto = {
    .name = "auto",
    .summary = "whatever is cheapest on measured times, of every buffer: keeps, moves, recomputes",
    .offloads = true,
    .chooses_algorithms = true,
    .still_where_all_fits = true,
    .weighs_times = true,
    .plan = plan};

}  // namespace vdnn
