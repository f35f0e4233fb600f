#include "cli/study/cases.h"

#include <algorithm>
#include <stdexcept>

#include "vdnn/error.h"
#include "vdnn/session.h"
#include "vdnn/zoo.h"

namespace vdnn::cli {
namespace {

constexpr std::int64_t kNoLimit = std::int64_t{1} << 50;

StudyCase study_case(Job& job, const StudyPolicy& policy, std::int64_t budget_bytes, const Links& links) {
  const Program& program = job.program();
  StudyCase result{.policy = policy};
  // Of the policies without a choice the same plan comes out for every budget that holds it.
  const bool searches = policy.policy == "vdnn-dyn";
  PlanResult planned = make_plan(program, {.policy = policy.policy,
                                           .algorithms = policy.algorithms,
                                           .budget_bytes = searches ? budget_bytes : kNoLimit});
  if (!planned.plan) {
    result.peak_bytes = planned.infeasible->least_budget_bytes;
    return result;
  }
  const Plan& plan = *planned.plan;
  result.peak_bytes = plan.peak_bytes;
  result.planned = true;
  result.fits = plan.peak_bytes <= budget_bytes;
  if (!plan.passes.empty()) result.pass = plan.passes.back().name;
  result.simulation = simulate(program, plan, links);
  return result;
}

}  // namespace

std::vector<StudyPolicy> study_policies() {
  return {{"base (m)", "baseline", Algorithms::memory},
          {"base (p)", "baseline"},
          {"all (m)", "vdnn-all", Algorithms::memory},
          {"all (p)", "vdnn-all"},
          {"conv (m)", "vdnn-conv", Algorithms::memory},
          {"conv (p)", "vdnn-conv"},
          {"dyn", "vdnn-dyn"}};
}

const StudyCase& NetworkStudy::under(const std::string& label) const {
  for (const auto& one : cases) {
    if (one.policy.label == label) return one;
  }
  throw std::out_of_range("no policy " + label + " in the study");
}

std::vector<NetworkStudy> study_networks(const std::string& device, std::int64_t budget_bytes,
                                         const std::function<void(const PaperNetwork&)>& on_network) {
  std::vector<NetworkStudy> all;
  for (const auto& network : kPaperNetworks) {
    on_network(network);
    Job job(make_model(network.model, {.batch = network.batch}),
            {.device = device, .optimizer = {.momentum = 0, .weight_decay = 0}});
    const Links links = job.links();
    NetworkStudy study{.network = network, .network_wide = job.program().network_wide};
    const std::int64_t workspace_bytes =
        largest_workspace_bytes(job.program(), assign_candidates(job.program(), Algorithms::performance));
    study.network_wide_bytes = study.network_wide.total_bytes() + workspace_bytes;
    study.managed_network_wide_bytes = study.network_wide.managed_bytes + workspace_bytes;
    study.unused_share_without_workspace = 1 - static_cast<double>(study.network_wide.largest_layer_bytes) /
                                                   static_cast<double>(study.network_wide.total_bytes());
    const Plan oracle = job.plan({.policy = "oracle", .algorithms = Algorithms::performance});
    study.oracle_seconds = simulate(job.program(), oracle, links).step_seconds;
    for (const auto& policy : study_policies())
      study.cases.push_back(study_case(job, policy, budget_bytes, links));
    all.push_back(std::move(study));
  }
  return all;
}

}  // namespace vdnn::cli
