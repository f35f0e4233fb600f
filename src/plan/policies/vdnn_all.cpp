#include "plan/policies/policies.h"
#include "plan/policies/vdnn_offload.h"

namespace vdnn {
namespace {

PlanResult plan(const PlanProblem& problem) {
  return plan_decisions(problem, offload_inputs(problem, OffloadedLayers::feature_extraction),
                        requested_assignment(problem));
}

}  // namespace

const Policy kVdnnAll = {.name = "vdnn-all",
                         .summary = "offloads the input of every feature-extraction layer",
                         .offloads = true,
                         .plan = plan};

}  // namespace vdnn
