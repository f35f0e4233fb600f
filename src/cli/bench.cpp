#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "cli/commands.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/report.h"
#include "cli/run_options.h"
#include "vdnn/bytes.h"
#include "vdnn/error.h"

namespace vdnn::cli {
namespace {

struct BenchOptions : RunOptions {
  std::string policies = "oracle,baseline,vdnn-conv,vdnn-all";
};

struct Contender {
  std::string name;
  PlanRequest request;
  Plan plan;
  std::string refusal;  // why there is no plan
  std::int64_t least_budget_bytes = 0;
  std::unique_ptr<Session> session;
  std::vector<StepReport> steps;  // the first, which warms up, left out
  RunTotals totals;

  [[nodiscard]] std::vector<double> seconds() const {
    std::vector<double> all;
    for (const auto& step : steps) all.push_back(step.seconds);
    return all;
  }
};

std::vector<Contender> plan_all(Run& run, const BenchOptions& options) {
  std::vector<Contender> contenders;
  std::istringstream list(options.policies);
  for (std::string item; std::getline(list, item, ',');) {
    const auto colon = item.find(':');
    const std::string policy = item.substr(0, colon);
    std::string algorithms;
    if (colon != std::string::npos) {
      algorithms = item.substr(colon + 1);
    } else if (!chooses_algorithms(policy)) {
      algorithms = options.algorithms;
    }
    const PlanRequest request = plan_request(policy, algorithms, run.budget_bytes);
    Contender contender{
        .name = policy_label(
            policy, chooses_algorithms(policy) ? "" : std::string(algorithms_name(request.algorithms))),
        .request = request};
    try {
      contender.plan = run.job->plan(request);
    } catch (const BudgetError& error) {
      contender.refusal = error.what();
      contender.least_budget_bytes = error.least_budget_bytes();
    }
    contenders.push_back(std::move(contender));
  }
  if (contenders.empty()) throw UsageError("--policies names no policy");
  return contenders;
}

void open(Run& run, const BenchOptions& options, Contender& contender) {
  contender.session = std::make_unique<Session>(*run.job, contender.plan, run.data, session_options(options));
  contender.session->step();
}

void close(Contender& contender) {
  contender.totals = contender.session->totals();
  contender.session.reset();
}

// Side by side where memory allows, so that a machine's moods hit all alike; else one after the other.
bool run_all(Run& run, const BenchOptions& options, std::vector<Contender>& contenders) {
  const std::int64_t rounds = options.steps > 0 ? options.steps : 10;
  std::vector<Contender*> runnable;
  std::int64_t memory = 0;
  for (auto& contender : contenders) {
    if (!contender.refusal.empty()) continue;
    runnable.push_back(&contender);
    memory += contender.plan.peak_bytes;
  }
  const bool paired = memory <= run.job->default_budget_bytes();
  if (paired) {
    Progress opening("opening");
    for (std::size_t i = 0; i < runnable.size(); ++i) {
      open(run, options, *runnable[i]);
      opening.show(static_cast<std::int64_t>(i) + 1, static_cast<std::int64_t>(runnable.size()),
                   runnable[i]->name);
    }
  }
  Progress progress("bench");
  std::int64_t done = 0;
  const auto total = rounds * static_cast<std::int64_t>(runnable.size());
  const auto step = [&](Contender& contender) {
    if (interrupted()) return;
    contender.steps.push_back(contender.session->step());
    ++done;
    progress.show(
        done, total,
        fmt::format("{}/{} {} {:.3f} s, {} left", done, total, contender.name, contender.steps.back().seconds,
                    clock_text(progress.seconds_left(done, total))));
  };
  if (paired) {
    for (std::int64_t round = 0; round < rounds; ++round) {
      for (auto* contender : runnable) step(*contender);
    }
    for (auto* contender : runnable) close(*contender);
  } else {
    for (auto* contender : runnable) {
      open(run, options, *contender);
      for (std::int64_t round = 0; round < rounds; ++round) step(*contender);
      close(*contender);
    }
  }
  return paired;
}

// Median over rounds of the step's time relative to the first contender's in the same round.
std::vector<double> ratios(const Contender& contender, const Contender& first) {
  std::vector<double> all;
  for (std::size_t i = 0; i < std::min(contender.steps.size(), first.steps.size()); ++i) {
    all.push_back(contender.steps[i].seconds / first.steps[i].seconds);
  }
  return all;
}

// Writes the report, and ends as the run did.
void finish(const Run& run, const BenchOptions& options, const std::vector<Contender>& contenders,
            bool paired, const nlohmann::json& rows) {
  std::int64_t least = INT64_MAX;
  bool fits = false;
  for (const auto& contender : contenders) {
    fits |= contender.refusal.empty();
    if (!contender.refusal.empty()) least = std::min(least, contender.least_budget_bytes);
  }
  nlohmann::json report = {{"model", run.job->program().name},
                           {"batch", run.batch},
                           {"budget_bytes", run.budget_bytes},
                           {"paired", paired},
                           {"fits", fits},
                           {"interrupted", interrupted()},
                           {"policies", rows}};
  constexpr const char* kNoneFits = "none of the policies fits";
  if (!fits) report.update({{"error", kNoneFits}, {"least_budget_bytes", least}});
  write_json(report, options.json);
  if (!fits) throw BudgetError(kNoneFits, least);
  if (interrupted()) {
    say("interrupted: not every policy ran all its steps\n");
    throw Exit{kFailed};
  }
}

void bench(const BenchOptions& options) {
  watch_for_interrupts();
  Run run = open_run(options);
  auto contenders = plan_all(run, options);
  const bool paired = run_all(run, options, contenders);
  const auto base =
      std::find_if(contenders.begin(), contenders.end(), [](const auto& c) { return !c.steps.empty(); });
  FILE* out = options.json == "-" ? stderr : stdout;
  nlohmann::json rows = nlohmann::json::array();
  tell(out, "{:<16} {:>9} {:>9} {:>15} {:>7} {:>15} {:>9} {:>7}\n", "policy", "peak", "step", "spread",
       "ratio", "spread", "moved", "hidden");
  for (const auto& contender : contenders) {
    if (contender.steps.empty()) {
      if (contender.refusal.empty()) continue;  // interrupted before its first step
      tell(out, "{:<16} does not fit: least budget {} ({} bytes)\n", contender.name,
           format_bytes(contender.least_budget_bytes), contender.least_budget_bytes);
      rows.push_back({{"policy", contender.request.policy},
                      {"algorithms", algorithms_name(contender.request.algorithms)},
                      {"fits", false},
                      {"least_budget_bytes", contender.least_budget_bytes}});
      continue;
    }
    const auto seconds = contender.seconds();
    const auto relative = ratios(contender, *base);
    const auto [fast, slow] = std::minmax_element(seconds.begin(), seconds.end());
    const auto [low, high] = std::minmax_element(relative.begin(), relative.end());
    tell(out, "{:<16} {:>9} {:>7.3f} s {:>6.3f} - {:>6.3f} {:>7.3f} {:>6.3f} - {:>6.3f} {:>9} {:>5.1f} %\n",
         contender.name, format_bytes(contender.totals.peak_bytes), median(seconds), *fast, *slow,
         median(relative), *low, *high,
         format_bytes(contender.totals.offloaded_bytes /
                      static_cast<std::int64_t>(contender.steps.size() + 1)),
         100 * contender.totals.hidden_copy_share());
    auto row = run_json(run, contender.plan, contender.totals, contender.steps);
    row["median_step_seconds"] = median(seconds);
    row["ratio"] = median(relative);
    row["ratios"] = relative;
    rows.push_back(std::move(row));
  }
  tell(out, "ratio: to {}, median of {} rounds, {}; moved: out per step\n",
       base == contenders.end() ? "nothing" : base->name, base == contenders.end() ? 0 : base->steps.size(),
       paired ? "side by side" : "one after the other");
  finish(run, options, contenders, paired, rows);
}

}  // namespace

void add_bench(CLI::App& app) {
  auto options = std::make_shared<BenchOptions>();
  auto* command = app.add_subcommand("bench", "Time policies side by side in one run");
  command->footer(
      "Example: vdnn bench vgg-16 --batch 32 --memory 2.6GiB --policies oracle,vdnn-conv,vdnn-all --steps "
      "10");
  options->add_to(*command);
  command
      ->add_option("--policies", options->policies, "Comma-separated, each with :m or :p for its algorithms")
      ->capture_default_str();
  command->add_option("--algorithms", options->algorithms,
                      "Of policies without their own: memory or performance (default)");
  command->callback([options] { bench(*options); });
}

}  // namespace vdnn::cli
