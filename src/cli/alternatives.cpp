#include "cli/alternatives.h"

#include "cli/run_options.h"

namespace vdnn::cli {

nlohmann::json alternatives_json(const Program& program, const Program& timed,
                                 const AlternativesRequest& request) {
  nlohmann::json all = nlohmann::json::array();
  for (const auto& policy : policies()) {
    const PlanResult result = make_plan(program, {.policy = policy.name,
                                                  .algorithms = Algorithms::performance,
                                                  .budget_bytes = request.budget_bytes,
                                                  .assignment = request.assignment,
                                                  .links = request.links});
    nlohmann::json row = {{"policy", policy.name}, {"algorithms", ""}, {"fits", result.plan.has_value()}};
    if (!request.assignment && !policy.chooses_algorithms)
      row["algorithms"] = algorithms_name(Algorithms::performance);
    if (result.plan) {
      const Simulation simulation = simulate(timed, *result.plan, request.links);
      row["peak_bytes"] = result.plan->peak_bytes;
      row["offloaded_bytes"] = simulation.offloaded_bytes;
      if (request.oracle_seconds && *request.oracle_seconds > 0) {
        row["predicted_seconds"] = simulation.step_seconds;
        row["slowdown"] = simulation.step_seconds / *request.oracle_seconds;
      }
    } else {
      row["least_budget_bytes"] = result.infeasible->least_budget_bytes;
    }
    all.push_back(std::move(row));
  }
  return all;
}

}  // namespace vdnn::cli
