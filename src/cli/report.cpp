#include "cli/report.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/output.h"
#include "vdnn/bytes.h"
#include "vdnn/whole_file.h"

namespace vdnn::cli {

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

double typical_seconds(std::vector<double> step_seconds) {
  if (step_seconds.size() > 1) step_seconds.erase(step_seconds.begin());
  return median(std::move(step_seconds));
}

std::string json_text(const nlohmann::json& content, int indent) {
  return content.dump(indent, ' ', false, nlohmann::json::error_handler_t::replace);
}

nlohmann::json bytes_by_role_json(const Simulation& simulation) {
  nlohmann::json by_role;
  for (const auto role : kRoles) {
    by_role[std::string(role_name(role))] = simulation.peak_bytes_by_role[static_cast<std::size_t>(role)];
  }
  return by_role;
}

nlohmann::json run_json(const Run& run, const Plan& plan, const RunTotals& totals,
                        const std::vector<StepReport>& steps) {
  const Program& program = run.job->program();
  const Simulation simulation = simulate(program, plan, {});
  std::vector<double> losses;
  std::vector<double> seconds;
  for (const auto& step : steps) {
    losses.push_back(step.loss);
    seconds.push_back(step.seconds);
  }
  const std::int64_t network_wide = network_wide_bytes(program, plan.assignment);
  return {{"model", program.name},
          {"batch", run.batch},
          {"device", run.job->device().name},
          {"threads", run.job->threads()},
          {"policy", plan.policy},
          {"algorithms", algorithms_name(plan.algorithms)},
          {"fits", true},
          {"steps", steps.size()},
          {"losses", losses},
          {"step_seconds", seconds},
          {"budget_bytes", plan.budget_bytes},
          {"peak_bytes", totals.peak_bytes},
          {"planned_peak_bytes", plan.peak_bytes},
          {"network_wide_bytes", network_wide},
          {"unused_share", unused_share(program, plan.assignment)},
          {"peak_bytes_by_role", bytes_by_role_json(simulation)},
          {"average_bytes", simulation.average_live_bytes},
          {"resident_bytes", totals.resident_bytes},
          {"offloaded_bytes", totals.offloaded_bytes},
          {"prefetched_bytes", totals.prefetched_bytes},
          {"offload_seconds", totals.times.offload_seconds},
          {"prefetch_seconds", totals.times.prefetch_seconds},
          {"kernel_seconds", totals.times.kernel_seconds},
          {"stall_seconds", totals.times.stall_seconds},
          {"hidden_copy_share", totals.hidden_copy_share()},
          {"tier", totals.tier}};
}

std::string run_text(const Run& run, const Plan& plan, const RunTotals& totals,
                     const std::vector<StepReport>& steps) {
  const std::int64_t network_wide = network_wide_bytes(run.job->program(), plan.assignment);
  std::vector<double> step_seconds;
  for (const auto& step : steps) step_seconds.push_back(step.seconds);
  const double seconds = typical_seconds(std::move(step_seconds));
  std::string text;
  if (!steps.empty()) {
    text += fmt::format("loss      {:.4f} -> {:.4f} in {} steps\n", steps.front().loss, steps.back().loss,
                        steps.size());
    text += fmt::format("speed     {:.3f} s a step, {:.1f} images/s\n", seconds,
                        static_cast<double>(run.batch) / seconds);
  }
  text += fmt::format(
      "memory    peak {} of a budget of {}; network-wide allocation {} ({:.2f} x the budget)\n",
      format_bytes(totals.peak_bytes), format_bytes(plan.budget_bytes), format_bytes(network_wide),
      static_cast<double>(network_wide) / static_cast<double>(plan.budget_bytes));
  text += fmt::format("process   {} resident at most\n", format_bytes(totals.resident_bytes));
  if (totals.tier.empty()) return text + "moved     nothing\n";
  text += fmt::format("moved     {} out, {} in; {:.1f} % of the copy time hidden, {:.3f} s stalled\n",
                      format_bytes(totals.offloaded_bytes), format_bytes(totals.prefetched_bytes),
                      100 * totals.hidden_copy_share(), totals.times.stall_seconds);
  return text + fmt::format("tier      {}\n", totals.tier);
}

void write_json(const nlohmann::json& content, const std::string& path) {
  if (path.empty()) return;
  const std::string text = json_text(content, 1);
  if (path == "-") {
    tell(stdout, "{}\n", text);
    return;
  }
  write_whole_file(path, text + '\n');
}

}  // namespace vdnn::cli
