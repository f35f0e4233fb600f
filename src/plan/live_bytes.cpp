#include "plan/live_bytes.h"

#include <numeric>

namespace vdnn {

std::vector<std::int64_t> live_bytes_by_step(const std::vector<Placement>& placements,
                                             std::size_t step_count) {
  std::vector<std::int64_t> live(step_count + 1, 0);
  for (const auto& placement : placements) {
    live[static_cast<std::size_t>(placement.steps.begin)] += placement.bytes;
    live[static_cast<std::size_t>(placement.steps.end)] -= placement.bytes;
  }
  std::partial_sum(live.begin(), live.end(), live.begin());
  live.pop_back();
  return live;
}

std::size_t peak_launch(const Plan& plan) {
  const std::vector<std::int64_t> live = live_bytes_by_step(plan.placements, plan.steps.size());
  std::int64_t most = -1;
  std::size_t peak = 0;
  for (std::size_t s = 0; s < live.size(); ++s) {
    if (plan.steps[s].kind != StepKind::launch || live[s] <= most) continue;
    most = live[s];
    peak = s;
  }
  return peak;
}

}  // namespace vdnn
