#include "cli/step_json.h"

#include "vdnn/explain.h"

namespace vdnn::cli {
namespace {

double seconds(std::int64_t nanoseconds) {
  return 1e-9 * static_cast<double>(nanoseconds);
}

}  // namespace

std::vector<StreamKind> streams_of(const Plan& plan) {
  if (plan.far_tier_bytes > 0) return {kStreamKinds.begin(), kStreamKinds.end()};
  return {StreamKind::compute, StreamKind::offload, StreamKind::prefetch};
}

nlohmann::json step_json(const Program& program, const Plan& plan, const StepTimes& times) {
  nlohmann::json streams;
  for (const auto stream : streams_of(plan))
    streams[std::string(stream_name(stream))] = nlohmann::json::array();
  const auto stream_of = [&](std::size_t step) {
    return std::string(stream_name(plan.steps[step].stream()));
  };
  for (std::size_t s = 0; s < plan.steps.size(); ++s)
    streams[stream_of(s)].push_back(
        {seconds(times[s].begin), seconds(times[s].end), step_name(program, plan.steps[s])});
  nlohmann::json waits = nlohmann::json::array();
  for (const auto& wait : stream_waits(plan, times)) {
    waits.push_back({stream_of(wait.step), seconds(wait.nanoseconds.begin), seconds(wait.nanoseconds.end),
                     step_name(program, plan.steps[wait.on])});
  }
  nlohmann::json samples = nlohmann::json::array();
  for (const auto& sample : memory_over_time(program, plan, times)) {
    nlohmann::json row = {seconds(sample.nanoseconds)};
    for (const auto bytes : sample.bytes) row.push_back(bytes);
    samples.push_back(std::move(row));
  }
  nlohmann::json roles = nlohmann::json::array();
  for (const auto role : kRoles) roles.push_back(role_name(role));
  return {
      {"streams", streams}, {"waits", waits}, {"memory_over_time", {{"roles", roles}, {"samples", samples}}}};
}

nlohmann::json peak_json(const Program& program, const Plan& plan, const Simulation& simulation) {
  const PlanExplanation explanation = explain_plan(program, plan, simulation);
  nlohmann::json residents = nlohmann::json::array();
  for (const auto& one : explanation.residents) {
    residents.push_back(
        {{"name", one.name}, {"role", role_name(one.role)}, {"bytes", one.bytes}, {"why", one.why}});
  }
  return {{"peak_kernel", explanation.peak_kernel}, {"peak_residents", residents}};
}

}  // namespace vdnn::cli
