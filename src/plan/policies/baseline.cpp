#include "plan/policies/policies.h"

namespace vdnn {
namespace {

PlanResult plan(const PlanProblem& problem) {
  return plan_decisions(problem, {.share_addresses = false}, requested_assignment(problem));
}

}  // namespace

const Policy kBaseline = {
    .name = "baseline", .summary = "network-wide allocation: nothing is shared or moved", .plan = plan};

}  // namespace vdnn
