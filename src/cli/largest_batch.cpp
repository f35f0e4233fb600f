#include "cli/largest_batch.h"

#include <fmt/format.h>

#include <map>

#include "cli/output.h"
#include "cli/progress.h"
#include "cli/report.h"
#include "vdnn/bytes.h"

namespace vdnn::cli {
namespace {

constexpr std::int64_t kMostImages = std::int64_t{1} << 24;

// One network at every batch that is asked about.
class BatchSearch {
 public:
  BatchSearch(const NetworkOptions& options, std::int64_t budget_bytes)
      : options_(options), budget_bytes_(budget_bytes) {}

  // 0 where not even one image fits. More images never take less memory, so halving finds the largest batch.
  std::int64_t largest(const std::string& policy, const std::string& algorithms) {
    const PlanRequest request = leanest(policy, algorithms);
    std::int64_t fits = 0;
    std::int64_t too_large = 1;
    while (too_large <= kMostImages && plan_fits(too_large, request)) {
      fits = too_large;
      too_large *= 2;
    }
    while (too_large - fits > 1) {
      const std::int64_t middle = fits + (too_large - fits) / 2;
      (plan_fits(middle, request) ? fits : too_large) = middle;
    }
    return fits;
  }

 private:
  // Trains what the policy trains.
  [[nodiscard]] PlanRequest leanest(const std::string& policy, const std::string& algorithms) const {
    // vdnn-dyn trains what vdnn-all trains with the leanest kernels: that is its first pass.
    if (policy == "vdnn-dyn") return plan_request("vdnn-all", "memory", budget_bytes_);
    return plan_request(policy, algorithms, budget_bytes_);
  }

  bool plan_fits(std::int64_t batch, const PlanRequest& request) {
    progress_.show(++probes_, 0, fmt::format("{} at batch {}", request.policy, batch));
    auto& job = jobs_[batch];
    try {
      if (!job) {
        NetworkOptions options = options_;
        options.batch = batch;
        job = open_job(options, make_graph(options));
      }
      // Whether it fits does not hang on times: nothing is measured.
      return make_plan(job->program(), request).plan.has_value();
    } catch (const UsageError&) {
      if (batch == 1) throw;
      return false;  // its bytes overflow
    }
  }

  NetworkOptions options_;
  std::int64_t budget_bytes_;
  std::map<std::int64_t, std::unique_ptr<Job>> jobs_;
  Progress progress_{"largest batch:"};
  std::int64_t probes_ = 0;
};

}  // namespace

void largest_batches(const NetworkOptions& options) {
  const std::int64_t budget_bytes = options.memory.empty()
                                        ? open_device(options.device)->description().free_bytes
                                        : parse_bytes(options.memory);
  std::vector<std::pair<std::string, std::string>> asked;  // policy and algorithms
  if (!options.policy.empty()) {
    static_cast<void>(
        plan_request(options.policy, options.algorithms, budget_bytes));  // refuses what is wrong
    asked.emplace_back(options.policy, options.algorithms.empty() && !chooses_algorithms(options.policy)
                                           ? "memory"
                                           : options.algorithms);
  } else {
    for (const auto& policy : policies()) {
      if (policy.unlimited) continue;
      asked.emplace_back(policy.name, policy.chooses_algorithms    ? ""
                                      : options.algorithms.empty() ? "memory"
                                                                   : options.algorithms);
    }
  }
  nlohmann::json rows = nlohmann::json::array();
  FILE* out = options.json == "-" ? stderr : stdout;
  auto search = std::make_unique<BatchSearch>(options, budget_bytes);
  std::vector<std::string> lines;
  for (const auto& [policy, algorithms] : asked) {
    const std::int64_t batch = search->largest(policy, algorithms);
    rows.push_back({{"policy", policy}, {"algorithms", algorithms}, {"largest_batch", batch}});
    const std::string name = policy_label(
        policy, algorithms.empty() ? "" : std::string(algorithms_name(parse_algorithms(algorithms))));
    lines.push_back(
        fmt::format("{:<16} {}\n", name, batch == 0 ? "not even one image" : std::to_string(batch)));
  }
  search.reset();  // ends the line of its progress
  tell(out, "{} in {}: largest batch\n", options.model, format_bytes(budget_bytes));
  for (const auto& line : lines) tell(out, "{}", line);
  write_json({{"model", options.model}, {"budget_bytes", budget_bytes}, {"policies", rows}}, options.json);
}

}  // namespace vdnn::cli
