#include "plan/verify_claims.h"

#include <fmt/format.h>

#include <algorithm>

#include "plan/policy.h"
#include "vdnn/bytes.h"

namespace vdnn {
namespace {

const Policy* known_policy(const std::string& name) {
  for (const auto* policy : registered_policies()) {
    if (policy->name == name) return policy;
  }
  return nullptr;
}

// Every buffer at an address of its own, and the largest workspace of any candidate.
std::int64_t bytes_of_all(const Program& program) {
  std::int64_t bytes = 0;
  for (const auto& kernel : program.kernels) {
    for (const auto& candidate : kernel.candidates)
      bytes = std::max(bytes, round_up(candidate.workspace_bytes, 64));
  }
  for (const auto& buffer : program.buffers) bytes += buffer.placed_bytes();
  return bytes;
}

// The policies whose plans a policy may give: its own, and of one that searches those that its passes try.
std::vector<std::string> possible_origins(const Policy& policy) {
  std::vector<std::string> names = {std::string(policy.name)};
  if (policy.chooses_algorithms) {
    for (const auto* other : registered_policies()) {
      if (!other->chooses_algorithms) names.emplace_back(other->name);
    }
  }
  return names;
}

}  // namespace

std::vector<std::string> verify_claims(const Program& program, const Plan& plan) {
  std::vector<std::string> violations;
  const Policy* policy = known_policy(plan.policy);
  const std::int64_t all = bytes_of_all(program);
  const auto moved = std::find_if(plan.steps.begin(), plan.steps.end(),
                                  [](const auto& step) { return step.kind != StepKind::launch; });
  if (policy != nullptr && policy->still_where_all_fits && moved != plan.steps.end() &&
      all <= plan.budget_bytes) {
    violations.push_back(fmt::format("P5: {} is moved, though all buffers fit in the budget: {} of {}",
                                     program.buffer(moved->buffer).name, format_bytes(all),
                                     format_bytes(plan.budget_bytes)));
  }
  if (policy != nullptr && policy->still_where_all_fits && moved == plan.steps.end() &&
      plan.steps.size() > program.kernels.size() && all <= plan.budget_bytes) {
    violations.push_back(
        fmt::format("P5: kernels are launched again, though all buffers fit in the budget: {} of {}",
                    format_bytes(all), format_bytes(plan.budget_bytes)));
  }
  for (std::size_t k = 0; k < program.kernels.size(); ++k) {
    const Kernel& kernel = program.kernels[k];
    const auto& candidate = kernel.candidates[static_cast<std::size_t>(plan.assignment[k])];
    const std::int64_t needed = working_set_bytes(program, kernel, candidate);
    if (needed <= plan.peak_bytes) continue;
    violations.push_back(fmt::format("P6: {} alone needs {} bytes, the stated peak is {}", kernel.name,
                                     needed, plan.peak_bytes));
    break;
  }
  return violations;
}

std::vector<std::string> verify_origin(const Program& program, const Plan& plan) {
  const Policy* policy = known_policy(plan.policy);
  if (policy == nullptr) return {};     // made by hand or elsewhere
  if (policy->weighs_times) return {};  // the request's times are not in the plan
  // What went to the far tier did so because the nearest holds what it holds.
  Links links;
  if (plan.far_tier_bytes > 0) links.near_capacity_bytes = plan.tier_bytes;
  for (const auto& name : possible_origins(*policy)) {
    const PlanResult made = make_plan(program, {.policy = name,
                                                .algorithms = plan.algorithms,
                                                .budget_bytes = plan.budget_bytes,
                                                .assignment = plan.assignment,
                                                .links = links});
    if (made.plan && made.plan->steps == plan.steps && made.plan->placements == plan.placements) return {};
  }
  return {fmt::format(
      "P7: {} makes another plan from the same request; a plan of one's own needs another policy's name",
      plan.policy)};
}

}  // namespace vdnn
