#include "vdnn/replan.h"

#include <algorithm>
#include <array>

#include "run/step_times.h"

namespace vdnn {
namespace {

constexpr double kWorthwhile = 0.98;

// Medians over the training steps, by step of the plan.
std::vector<double> measured_seconds(const Plan& plan, const std::vector<StepTimes>& steps) {
  std::vector<double> seconds;
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    std::vector<double> all;
    for (const auto& times : steps) all.push_back(1e-9 * static_cast<double>(times[s].length()));
    seconds.push_back(median_of(std::move(all)));
  }
  return seconds;
}

struct Sum {
  double measured_seconds = 0;
  double assumed_seconds = 0;
  [[nodiscard]] double ratio() const { return assumed_seconds > 0 ? measured_seconds / assumed_seconds : 1; }
};

bool disagrees(double ratio) {
  return ratio > kReplanThreshold || ratio < 1 / kReplanThreshold;
}

}  // namespace

std::optional<Replanning> replan(Job& job, const Plan& plan, const std::vector<StepTimes>& steps) {
  const bool decides = plan.steps.size() > job.program().kernels.size();  // copies or recomputes
  if (steps.empty() || !decides) return {};
  const auto known = policies();
  if (std::none_of(known.begin(), known.end(), [&](const PolicyInfo& policy) {
        return policy.name == plan.policy && policy.weighs_times;
      }))
    return {};

  const std::vector<double> measured = measured_seconds(plan, steps);
  Program program = job.program();
  Links links = job.links_or_assumed();
  std::array<Sum, kStreamCount> sums;
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    const PlanStep& step = plan.steps[s];
    Sum& sum = sums[index_of(step.stream())];
    sum.measured_seconds += measured[s];
    if (step.kind == StepKind::launch) {
      const auto candidate = static_cast<std::size_t>(plan.assignment[step.kernel.index()]);
      sum.assumed_seconds += job.program().kernel(step.kernel).candidates[candidate].seconds;
      program.kernels[step.kernel.index()].candidates[candidate].seconds = measured[s];
      continue;
    }
    sum.assumed_seconds +=
        static_cast<double>(program.buffer(step.buffer).placed_bytes()) / links.bytes_per_s(step.stream());
  }
  Replanning result;
  for (const auto stream : kStreamKinds) result.ratios[index_of(stream)] = sums[index_of(stream)].ratio();
  if (std::none_of(result.ratios.begin(), result.ratios.end(), disagrees)) return {};
  links.offload_bytes_per_s /= result.ratio(StreamKind::offload);
  links.prefetch_bytes_per_s /= result.ratio(StreamKind::prefetch);
  links.far_offload_bytes_per_s /= result.ratio(StreamKind::far_offload);
  links.far_prefetch_bytes_per_s /= result.ratio(StreamKind::far_prefetch);
  // The measured times have it in them.
  links.offload_slowdown = links.prefetch_slowdown = links.duplex_share = 1;
  PlanResult made = make_plan(program, {.policy = plan.policy,
                                        .algorithms = plan.algorithms,
                                        .budget_bytes = plan.budget_bytes,
                                        .assignment = plan.assignment,
                                        .links = links});
  if (!made.plan || !verify_plan(program, *made.plan).empty()) return {};
  result.plan = std::move(*made.plan);
  result.seconds_before = simulate(program, plan, links).step_seconds;
  result.seconds_now = simulate(program, result.plan, links).step_seconds;
  if (result.seconds_now > kWorthwhile * result.seconds_before) return {};
  return result;
}

}  // namespace vdnn
