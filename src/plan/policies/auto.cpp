#include <cmath>

#include "plan/policies/policies.h"
#include "plan/policies/residency.h"
#include "plan/policies/vdnn_offload.h"
#include "plan/schedule.h"
#include "vdnn/bytes.h"
#include "vdnn/timeline.h"

namespace vdnn {
namespace {

constexpr int kRungs = 16;
constexpr std::size_t kSmallProgram =
    600;  // kernels; larger ones are improved less often, to be planned in about a second
constexpr std::int64_t kNoLimit = std::int64_t{1} << 60;

// Plans for a ladder of limits that does not hang on the budget, and the plans of the paper's policies;
// answers with the fastest whose peak fits, of equals with the lowest peak. So a larger budget never gives a
// slower plan, and a smaller one never a higher peak (docs/planner.md).
class LadderSearch {
 public:
  explicit LadderSearch(const PlanProblem& problem)
      : problem_(problem),
        roomy_request_(with_budget(problem.request, kNoLimit)),
        roomy_{problem.program, roomy_request_, problem.uses},
        planner_(problem) {}

  PlanResult run() {
    consider("everything resident", {}, start_from(problem_, Algorithms::performance));
    if (best_) return finished();  // nothing could be faster, and nothing moves (P5)
    const double least = static_cast<double>(std::max<std::int64_t>(1, planner_.least_bytes()));
    const double most = static_cast<double>(planner_.most_bytes());
    for (int rung = 0; rung < kRungs; ++rung) {
      const auto limit =
          static_cast<std::int64_t>(least * std::pow(most / least, static_cast<double>(rung) / (kRungs - 1)));
      climb("limit " + format_bytes(limit), limit);
    }
    for (const auto layers : {OffloadedLayers::convolution, OffloadedLayers::feature_extraction}) {
      for (const auto algorithms : {Algorithms::performance, Algorithms::memory})
        consider("as the paper's policies", offload_inputs(problem_, layers),
                 start_from(problem_, algorithms));
    }
    if (!best_) return plan_decisions(problem_, smallest_->decisions, smallest_->assignment);
    return finished();
  }

 private:
  struct Candidate {
    std::string name;
    Decisions decisions;
    std::vector<int> assignment;
    std::int64_t peak_bytes = 0;
    double seconds = 0;
  };

  static PlanRequest with_budget(PlanRequest request, std::int64_t budget_bytes) {
    request.budget_bytes = budget_bytes;
    return request;
  }

  // Plans for a limit, and again with what kernels waited for as a cost of those buffers' absences.
  void climb(const std::string& name, std::int64_t limit) {
    std::vector<double> stall_seconds(problem_.program.buffers.size(), 0);
    const int rounds = problem_.program.kernels.size() <= kSmallProgram ? 4 : 2;
    for (int round = 0; round < rounds; ++round) {
      auto [decisions, assignment] = planner_.plan(limit, stall_seconds);
      if (!consider(name, std::move(decisions), std::move(assignment), &stall_seconds)) return;
    }
  }

  // Adds to the stalls what kernels wait for; false where they wait for nothing, or nobody asks.
  bool consider(std::string name, Decisions decisions, std::vector<int> assignment,
                std::vector<double>* stall_seconds = nullptr) {
    PlanResult result = plan_decisions(roomy_, decisions, assignment);
    Plan& plan = *result.plan;
    order_accesses(problem_.program, plan.steps, plan.placements);
    const Simulation simulation = simulate(problem_.program, plan, problem_.request.links);
    Candidate candidate{.name = std::move(name),
                        .decisions = std::move(decisions),
                        .assignment = std::move(assignment),
                        .peak_bytes = plan.peak_bytes,
                        .seconds = simulation.step_seconds};
    if (candidate.peak_bytes <= problem_.request.budget_bytes) {
      const bool better = !best_ || candidate.seconds < best_->seconds ||
                          (candidate.seconds == best_->seconds && candidate.peak_bytes < best_->peak_bytes);
      if (better) best_ = candidate;
    }
    if (!smallest_ || candidate.peak_bytes < smallest_->peak_bytes) smallest_ = std::move(candidate);
    return stall_seconds != nullptr && add_stalls(plan, simulation, *stall_seconds);
  }

  static bool add_stalls(const Plan& plan, const Simulation& simulation, std::vector<double>& stall_seconds) {
    bool any = false;
    for (const auto& wait : stream_waits(plan, simulation.step_nanoseconds)) {
      const PlanStep& on = plan.steps[wait.on];
      if (plan.steps[wait.step].kind != StepKind::launch || on.kind == StepKind::launch) continue;
      stall_seconds[on.buffer.index()] += 1e-9 * static_cast<double>(wait.nanoseconds.length());
      any = true;
    }
    return any;
  }

  PlanResult finished() {
    PlanResult result = plan_decisions(problem_, best_->decisions, best_->assignment);
    result.plan->passes = {{.name = best_->name, .peak_bytes = best_->peak_bytes, .fits = true}};
    remember_choices(problem_, best_->decisions, start_from(problem_, Algorithms::performance), *result.plan);
    return result;
  }

  const PlanProblem& problem_;
  PlanRequest roomy_request_;
  PlanProblem roomy_;
  ResidencyPlanner planner_;
  std::optional<Candidate> best_;      // that fits
  std::optional<Candidate> smallest_;  // of all
};

PlanResult plan(const PlanProblem& problem) {
  return LadderSearch(problem).run();
}

}  // namespace

const Policy kAuto = {
    .name = "auto",
    .summary = "whatever is cheapest on measured times, of every buffer: keeps, moves, or a leaner kernel",
    .offloads = true,
    .chooses_algorithms = true,
    .still_where_all_fits = true,
    .weighs_times = true,
    .plan = plan};

}  // namespace vdnn
