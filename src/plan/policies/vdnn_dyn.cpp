#include <array>
#include <utility>

#include "plan/policies/policies.h"
#include "plan/policies/vdnn_offload.h"
#include "vdnn/bytes.h"

namespace vdnn {
namespace {

// vDNN_dyn (paper, section 3.4): tries passes from the one that costs least time to the one that takes least
// memory, and keeps the first that fits. Where the assignment is given, the passes differ in movements alone.
class DynamicSearch {
 public:
  explicit DynamicSearch(const PlanProblem& problem)
      : problem_(problem), fastest_(start_from(problem, Algorithms::performance)) {}

  PlanResult run() {
    const Decisions none;
    const Decisions conv = offload_inputs(problem_, OffloadedLayers::convolution);
    const Decisions all = offload_inputs(problem_, OffloadedLayers::feature_extraction);
    constexpr const char* kLeast = "vdnn-all (m)";
    PlanResult least = attempt(kLeast, all, start_from(problem_, Algorithms::memory));
    const bool trains = least.plan.has_value();
    using Pass = std::pair<const char*, const Decisions*>;
    for (const auto& [name, decisions] :
         std::array<Pass, 3>{{{"no offload (p)", &none}, {"vdnn-conv (p)", &conv}, {"vdnn-all (p)", &all}}}) {
      PlanResult result = attempt(name, *decisions, fastest_);
      if (result.plan) return finished(result, *decisions);
      if (!trains && result.infeasible->least_budget_bytes < least.infeasible->least_budget_bytes)
        least = std::move(result);
    }
    if (!trains) return least;
    for (const auto& [name, decisions] :
         std::array<Pass, 2>{{{"vdnn-conv, greedy", &conv}, {"vdnn-all, greedy", &all}}}) {
      if (problem_.request.assignment) break;
      if (PlanResult result = greedy(name, *decisions); result.plan) return finished(result, *decisions);
    }
    remember(kLeast, least);
    return finished(least, all);
  }

 private:
  PlanResult attempt(const char* name, const Decisions& decisions, const std::vector<int>& assignment) {
    PlanResult result = plan_decisions(problem_, decisions, assignment);
    remember(name, result);
    return result;
  }

  void remember(const char* name, const PlanResult& result) {
    tried_.push_back({name, result.plan ? result.plan->peak_bytes : result.infeasible->least_budget_bytes,
                      result.plan.has_value()});
  }

  // Every kernel starts at its fastest candidate and steps down, to the next one with less workspace, where
  // the budget would overflow.
  PlanResult greedy(const char* name, const Decisions& decisions) {
    std::vector<int> assignment = fastest_;
    const std::int64_t budget_bytes = problem_.request.budget_bytes;
    const std::vector<std::int64_t> occupied = occupied_bytes(problem_, decisions);
    for (std::size_t k = 0; k < assignment.size(); ++k) {
      while (occupied[k] + workspace_bytes(k, assignment[k]) > budget_bytes && step_down(k, assignment)) {
      }
    }
    PlanResult result = plan_decisions(problem_, decisions, assignment);
    // Gaps between blocks can overflow a budget that their sum does not.
    while (!result.plan && step_down_any(result.infeasible->overflowing, assignment)) {
      result = plan_decisions(problem_, decisions, assignment);
    }
    remember(name, result);
    return result;
  }

  bool step_down_any(const std::vector<KernelId>& kernels, std::vector<int>& assignment) const {
    bool any = false;
    for (const auto kernel : kernels) any |= step_down(kernel.index(), assignment);
    return any;
  }

  // False where nothing takes less.
  bool step_down(std::size_t kernel, std::vector<int>& assignment) const {
    const auto candidates = static_cast<int>(problem_.program.kernels[kernel].candidates.size());
    int next = -1;
    for (int c = 0; c < candidates; ++c) {
      if (workspace_bytes(kernel, c) >= workspace_bytes(kernel, assignment[kernel])) continue;
      if (next < 0 || workspace_bytes(kernel, c) > workspace_bytes(kernel, next)) next = c;
    }
    if (next >= 0) assignment[kernel] = next;
    return next >= 0;
  }

  [[nodiscard]] std::int64_t workspace_bytes(std::size_t kernel, int candidate) const {
    const auto& candidates = problem_.program.kernels[kernel].candidates;
    return round_up(candidates[static_cast<std::size_t>(candidate)].workspace_bytes, 64);
  }

  PlanResult finished(PlanResult& result, const Decisions& decisions) {
    Plan& plan = *result.plan;
    plan.passes = std::move(tried_);
    remember_choices(problem_, decisions, fastest_, plan);
    return std::move(result);
  }

  const PlanProblem& problem_;
  std::vector<int> fastest_;
  std::vector<PassTried> tried_;
};

PlanResult plan(const PlanProblem& problem) {
  return DynamicSearch(problem).run();
}

}  // namespace

const Policy kVdnnDyn = {
    .name = "vdnn-dyn",
    .summary = "the fastest of vdnn-conv and vdnn-all that fits, algorithms chosen layer by layer",
    .offloads = true,
    .chooses_algorithms = true,
    .still_where_all_fits = true,
    .plan = plan};

}  // namespace vdnn
