#include "plan/policies/residency_problem.h"

#include "vdnn/bytes.h"

namespace vdnn {

ResidencyProblem::ResidencyProblem(const PlanProblem& problem, Launches launch_order)
    : program(problem.program),
      links(problem.request.links),
      launches(std::move(launch_order)),
      count(static_cast<std::int32_t>(launches.size())),
      fixed(problem.request.assignment.has_value()),
      fastest(start_from(problem, Algorithms::performance)),
      launches_of(program.kernels.size()) {
  for (std::int32_t l = 0; l < count; ++l) launches_of[kernel_of(l).index()].push_back(l);
  const Uses uses = find_uses(program, launches);
  gaps = find_gaps(program, uses, count);
  resident = live_bytes_by_launch(program, uses, count);
  find_recomputations(uses);
  find_starts();
}

std::int64_t ResidencyProblem::workspace_bytes(KernelId kernel, int index) const {
  return round_up(candidate(kernel, index).workspace_bytes, 64);
}

ResidencyProblem::CopyCost ResidencyProblem::copy_cost(const Gap& gap, bool copies_out,
                                                       TierLevel tier) const {
  const bool far = tier == TierLevel::far;
  const auto seconds = [&](StreamKind stream) { return copy_seconds(gap.bytes, stream); };
  CopyCost cost{.out_seconds = copies_out ? seconds(far ? StreamKind::far_offload : StreamKind::offload) : 0,
                .in_seconds = seconds(far ? StreamKind::far_prefetch : StreamKind::prefetch)};
  if (goes_round(gap)) {
    cost.unhidden_seconds = std::max(0.0, cost.out_seconds - (start(count) - start(gap.from + 1))) +
                            std::max(0.0, cost.in_seconds - start(gap.to - count));
  } else {
    const double meanwhile = start(gap.to) - start(gap.from + 1);
    cost.unhidden_seconds = std::max(0.0, cost.out_seconds + cost.in_seconds - meanwhile);
  }
  return cost;
}

void ResidencyProblem::find_recomputations(const Uses& uses) {
  const ChainFinder finder(program, launches, uses);
  for (const auto& gap : gaps.all) {
    auto& recomputation = recomputations.emplace_back();
    auto chain = finder.find(gap);
    if (!chain) continue;
    recomputation = Recomputation{.chain = std::move(*chain)};
    for (const auto kernel : recomputation->chain.kernels)
      recomputation->seconds += candidate(kernel, fastest[kernel.index()]).seconds;
  }
}

void ResidencyProblem::find_starts() {
  starts = {0};
  for (const auto kernel : launches)
    starts.push_back(starts.back() + candidate(kernel, fastest[kernel.index()]).seconds);
  if (starts.back() > 0) return;
  constexpr double kAssumedSeconds = 1e-3;  // of kernels that were not measured
  for (std::size_t l = 0; l < starts.size(); ++l) starts[l] = kAssumedSeconds * static_cast<double>(l);
}

}  // namespace vdnn
