#include <fmt/format.h>

#include <algorithm>

#include "plan/live_bytes.h"
#include "plan/policy.h"
#include "plan/schedule.h"
#include "vdnn/bytes.h"
#include "vdnn/error.h"

namespace vdnn {

std::string_view algorithms_name(Algorithms algorithms) {
  if (algorithms == Algorithms::mixed) return "mixed";
  return algorithms == Algorithms::memory ? "memory" : "performance";
}

std::vector<int> assign_candidates(const Program& program, Algorithms algorithms) {
  std::vector<int> assignment;
  for (const auto& kernel : program.kernels) {
    double fastest = 0;
    for (const auto& candidate : kernel.candidates) {
      if (candidate.seconds > 0 && (fastest == 0 || candidate.seconds < fastest)) fastest = candidate.seconds;
    }
    int best = 0;
    bool found = false;
    for (std::size_t c = 0; c < kernel.candidates.size(); ++c) {
      const auto& candidate = kernel.candidates[c];
      const auto& incumbent = kernel.candidates[static_cast<std::size_t>(best)];
      if (algorithms == Algorithms::performance) {
        const bool fast = candidate.seconds > 0 && candidate.seconds <= 1.03 * fastest;
        if (!fast || (found && candidate.workspace_bytes >= incumbent.workspace_bytes)) continue;
        best = static_cast<int>(c);
        found = true;
      } else if (candidate.workspace_bytes < incumbent.workspace_bytes) {
        best = static_cast<int>(c);
      }
    }
    assignment.push_back(best);
  }
  return assignment;
}

namespace {

std::vector<KernelId> find_overflowing(const Plan& plan) {
  std::vector<int> change(plan.steps.size() + 1, 0);
  for (const auto& placement : plan.placements) {
    if (placement.offset_bytes + placement.bytes <= plan.budget_bytes) continue;
    ++change[static_cast<std::size_t>(placement.steps.begin)];
    --change[static_cast<std::size_t>(placement.steps.end)];
  }
  std::vector<KernelId> kernels;
  int above = 0;
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    above += change[s];
    if (above > 0 && plan.steps[s].kind == StepKind::launch) kernels.push_back(plan.steps[s].kernel);
  }
  return kernels;
}

Infeasible find_shortage(const Program& program, const Plan& plan) {
  const std::size_t worst = peak_launch(plan);
  Infeasible result{.least_budget_bytes = plan.peak_bytes, .kernel = plan.steps[worst].kernel};
  result.overflowing = find_overflowing(plan);
  for (const auto& placement : plan.placements) {
    if (!placement.steps.contains(static_cast<std::int64_t>(worst))) continue;
    if (placement.buffer.valid()) {
      result.live_buffers.push_back(placement.buffer);
    } else {
      result.workspace_bytes = placement.bytes;
    }
  }
  std::stable_sort(result.live_buffers.begin(), result.live_buffers.end(),
                   [&](BufferId a, BufferId b) { return program.buffer(a).bytes > program.buffer(b).bytes; });
  return result;
}

}  // namespace

std::vector<int> requested_assignment(const PlanProblem& problem) {
  if (!problem.request.assignment && problem.request.algorithms == Algorithms::mixed)
    throw UsageError(
        fmt::format("{} does not mix algorithms; ask for memory or performance", problem.request.policy));
  return start_from(problem, problem.request.algorithms);
}

std::vector<std::int64_t> occupied_bytes(const PlanProblem& problem, const Decisions& decisions) {
  const Program& program = problem.program;
  // Any assignment will do: its workspaces are left out.
  Schedule schedule = make_schedule(problem, decisions, std::vector<int>(program.kernels.size(), 0));
  std::erase_if(schedule.placements, [](const Placement& placement) { return !placement.buffer.valid(); });
  const std::vector<std::int64_t> live = live_bytes_by_step(schedule.placements, schedule.steps.size());
  std::vector<std::int64_t> occupied(program.kernels.size());
  for (std::size_t s = 0; s < schedule.steps.size(); ++s) {
    if (schedule.steps[s].kind != StepKind::launch) continue;
    auto& most = occupied[schedule.steps[s].kernel.index()];
    most = std::max(most, live[s]);
  }
  return occupied;
}

std::vector<int> start_from(const PlanProblem& problem, Algorithms algorithms) {
  const auto& given = problem.request.assignment;
  return given ? *given : assign_candidates(problem.program, algorithms);
}

void remember_choices(const PlanProblem& problem, const Decisions& decisions, const std::vector<int>& fastest,
                      Plan& plan) {
  if (problem.request.assignment) return;
  const std::vector<std::int64_t> occupied = occupied_bytes(problem, decisions);
  for (std::size_t k = 0; k < plan.assignment.size(); ++k) {
    if (problem.program.kernels[k].candidates.size() < 2) continue;
    plan.choices.push_back(
        {.kernel = KernelId(k), .fastest = fastest[k], .room_bytes = plan.budget_bytes - occupied[k]});
  }
}

PlanResult plan_decisions(const PlanProblem& problem, const Decisions& decisions,
                          const std::vector<int>& assignment) {
  const Program& program = problem.program;
  const Policy& policy = find_policy(problem.request.policy);
  Plan plan{.policy = std::string(policy.name),
            .algorithms = policy.chooses_algorithms ? Algorithms::mixed : problem.request.algorithms,
            .budget_bytes = problem.request.budget_bytes,
            .assignment = assignment};
  Schedule schedule = make_schedule(problem, decisions, assignment);
  plan.steps = std::move(schedule.steps);
  plan.placements = std::move(schedule.placements);
  plan.tier_bytes = schedule.tier_bytes;
  plan.far_tier_bytes = schedule.far_tier_bytes;
  plan.peak_bytes = place(program, plan.placements, static_cast<std::int64_t>(plan.steps.size()));
  if (policy.unlimited) plan.budget_bytes = plan.peak_bytes;
  if (plan.peak_bytes > plan.budget_bytes) return {.infeasible = find_shortage(program, plan)};
  return {.plan = std::move(plan)};
}

PlanResult make_plan(const Program& program, const PlanRequest& request) {
  const Policy& policy = find_policy(request.policy);
  if (request.assignment && request.assignment->size() != program.kernels.size()) {
    throw UsageError(fmt::format("an assignment of {} kernels for a program of {}",
                                 request.assignment->size(), program.kernels.size()));
  }
  const Uses uses = find_uses(program, each_once(program));
  PlanResult result = policy.plan({program, request, uses});
  // Once, for the plan that is taken, however many a policy tries.
  if (result.plan) {
    result.plan->program_fingerprint = fingerprint(program);
    order_accesses(program, result.plan->steps, result.plan->placements);
  }
  return result;
}

std::string explain(const Program& program, const Infeasible& infeasible, std::int64_t budget_bytes) {
  const Kernel& kernel = program.kernel(infeasible.kernel);
  std::int64_t needed = infeasible.workspace_bytes;
  for (const auto buffer : infeasible.live_buffers) needed += program.buffer(buffer).placed_bytes();
  std::string text =
      fmt::format("cannot fit: {} {} needs {}, budget {}, least budget {} ({} bytes); largest:", kernel.name,
                  phase_name(kernel.phase), format_bytes(needed), format_bytes(budget_bytes),
                  format_bytes(infeasible.least_budget_bytes), infeasible.least_budget_bytes);
  for (std::size_t i = 0; i < std::min<std::size_t>(3, infeasible.live_buffers.size()); ++i) {
    const Buffer& buffer = program.buffer(infeasible.live_buffers[i]);
    text += fmt::format("{} {} {}", i == 0 ? "" : ",", buffer.name, format_bytes(buffer.bytes));
  }
  return text + "; raise the budget, lower the batch or the image size";
}

}  // namespace vdnn
