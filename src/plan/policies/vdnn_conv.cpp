#include "plan/policies/policies.h"
#include "plan/policies/vdnn_offload.h"

namespace vdnn {
namespace {

PlanResult plan(const PlanProblem& problem) {
  return plan_decisions(problem, offload_inputs(problem, OffloadedLayers::convolution),
                        requested_assignment(problem));
}

}  // namespace

const Policy kVdnnConv = {.name = "vdnn-conv",
                          .summary = "offloads the inputs of convolutions, whose kernels hide the copies",
                          .offloads = true,
                          .plan = plan};

}  // namespace vdnn
