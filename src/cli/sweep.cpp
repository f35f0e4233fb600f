#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/commands.h"
#include "cli/output.h"
#include "cli/picture/line_chart.h"
#include "cli/progress.h"
#include "cli/report.h"
#include "cli/run_options.h"
#include "vdnn/bounds.h"
#include "vdnn/bytes.h"
#include "vdnn/error.h"
#include "vdnn/whole_file.h"

namespace vdnn::cli {
namespace {

constexpr std::int64_t kNoLimit = std::int64_t{1} << 50;

struct SweepOptions : RunOptions {
  int points = 12;
  std::string svg;
};

struct Point {
  std::int64_t budget_bytes = 0;
  std::int64_t peak_bytes = 0;
  double predicted_seconds = 0;
  double slowdown = 0;
  double lower_bound_seconds = 0;
  std::optional<double> measured_seconds;
};

struct Sweep {
  std::string policy;
  std::int64_t least_budget_bytes = 0;
  std::vector<Point> points;
};

// Evenly spread from the least to all, both included.
std::vector<std::int64_t> budgets(std::int64_t least, std::int64_t most, int points) {
  std::vector<std::int64_t> all;
  for (int i = 0; i < points; ++i) {
    const double share = points > 1 ? static_cast<double>(i) / (points - 1) : 0;
    all.push_back(least + std::llround(share * static_cast<double>(std::max<std::int64_t>(0, most - least))));
  }
  return all;
}

class Sweeper {
 public:
  explicit Sweeper(const SweepOptions& options) : options_(options), graph_(make_graph(options)) {
    job_ = open_job(options, graph_);
    job_->measure_all_kernels();
    links_ = options.steps > 0 ? job_->links() : links_or_assumed(*job_);
    timed_ = job_->program_in_steps();
    const Plan oracle = job_->plan({.policy = "oracle", .algorithms = Algorithms::performance});
    oracle_seconds_ = simulate(timed_, oracle, links_).step_seconds;
    most_bytes_ = std::max(oracle.peak_bytes, network_wide_bytes(job_->program(), oracle.assignment));
    if (options.steps > 0) data_ = open_dataset(options.data, graph_.classes(), options.seed);
  }

  Sweep run(const std::string& policy) {
    PlanRequest request =
        plan_request(policy, chooses_algorithms(policy) ? "" : options_.algorithms, kNoLimit);
    const auto plan_in = [&](std::int64_t budget_bytes) {
      request.budget_bytes = budget_bytes;
      return job_->plan(request);
    };
    Sweep sweep{.policy = policy, .least_budget_bytes = least_budget(plan_in)};
    for (const auto budget : budgets(sweep.least_budget_bytes, most_bytes_, options_.points)) {
      progress_.show(++done_, 0, fmt::format("{} in {}", policy, format_bytes(budget)));
      const Plan plan = plan_in(budget);
      const double seconds = simulate(timed_, plan, links_).step_seconds;
      sweep.points.push_back({budget, plan.peak_bytes, seconds,
                              oracle_seconds_ > 0 ? seconds / oracle_seconds_ : 0,
                              time_bound(timed_, budget, links_).seconds(), measured(plan)});
      if (interrupted()) throw Exit{kFailed};
    }
    return sweep;
  }

  [[nodiscard]] const Job& job() const { return *job_; }
  [[nodiscard]] const Graph& graph() const { return graph_; }
  [[nodiscard]] std::int64_t most_bytes() const { return most_bytes_; }
  [[nodiscard]] double oracle_seconds() const { return oracle_seconds_; }

 private:
  [[nodiscard]] std::optional<double> measured(const Plan& plan) const {
    if (options_.steps == 0) return {};
    Session session(*job_, plan, data_, session_options(options_));
    session.step();  // makes code
    std::vector<double> seconds;
    for (std::int64_t step = 0; step < options_.steps && !interrupted(); ++step)
      seconds.push_back(session.step().seconds);
    return median(seconds);
  }

  const SweepOptions& options_;
  Graph graph_;
  std::unique_ptr<Job> job_;
  Links links_;
  Program timed_;
  std::shared_ptr<const Dataset> data_;
  double oracle_seconds_ = 0;
  std::int64_t most_bytes_ = 0;
  Progress progress_{"sweep:"};
  std::int64_t done_ = 0;
};

nlohmann::json points_json(const Sweep& sweep) {
  nlohmann::json points = nlohmann::json::array();
  for (const auto& point : sweep.points) {
    nlohmann::json row = {{"budget_bytes", point.budget_bytes},
                          {"peak_bytes", point.peak_bytes},
                          {"predicted_seconds", point.predicted_seconds},
                          {"slowdown", point.slowdown},
                          {"lower_bound_seconds", point.lower_bound_seconds}};
    if (point.measured_seconds) row["measured_seconds"] = *point.measured_seconds;
    points.push_back(std::move(row));
  }
  return points;
}

std::string chart(const std::string& title, const std::vector<Sweep>& sweeps, std::int64_t most_bytes) {
  LineChart chart{.title = title, .x_unit = "GiB", .y_unit = "x"};
  const auto gib = [](std::int64_t bytes) { return static_cast<double>(bytes) / static_cast<double>(kGiB); };
  for (const auto& sweep : sweeps) {
    auto& line = chart.lines.emplace_back(LineChart::Line{.name = sweep.policy, .points = {}});
    for (const auto& point : sweep.points) line.points.push_back({gib(point.budget_bytes), point.slowdown});
  }
  chart.limit = LineChart::Limit{"all", gib(most_bytes)};
  return to_svg(chart);
}

void print(FILE* out, const Sweep& sweep, std::int64_t bound) {
  tell(out, "{}: least budget {} ({} bytes), {:.3f} of the lower bound {}\n", sweep.policy,
       format_bytes(sweep.least_budget_bytes), sweep.least_budget_bytes,
       static_cast<double>(sweep.least_budget_bytes) / static_cast<double>(std::max<std::int64_t>(1, bound)),
       format_bytes(bound));
  tell(out, "  {:>9} {:>9} {:>11} {:>9} {:>7} {:>11}\n", "budget", "peak", "predicted", "x oracle", "x bound",
       "measured");
  for (const auto& point : sweep.points) {
    const double least = point.lower_bound_seconds;
    tell(out, "  {:>9} {:>9} {:>9.4f} s {:>9.3f} {:>7.3f} {:>11}\n", format_bytes(point.budget_bytes),
         format_bytes(point.peak_bytes), point.predicted_seconds, point.slowdown,
         least > 0 ? point.predicted_seconds / least : 0,
         point.measured_seconds ? fmt::format("{:.4f} s", *point.measured_seconds) : "");
  }
}

void sweep(const SweepOptions& options) {
  watch_for_interrupts();
  check_writable(options.json);
  check_writable(options.svg);
  Sweeper sweeper(options);
  std::vector<std::string> names;
  if (options.policy.empty()) {
    for (const auto& policy : policies()) {
      if (!policy.unlimited) names.push_back(policy.name);
    }
  } else {
    names = {options.policy};
  }
  std::vector<Sweep> sweeps;
  for (const auto& name : names) sweeps.push_back(sweeper.run(name));
  const std::int64_t bound = least_memory_bound_bytes(sweeper.job().program());
  FILE* out = options.json == "-" ? stderr : stdout;
  nlohmann::json rows = nlohmann::json::array();
  const Sweep* main = &sweeps.back();
  for (const auto& one : sweeps) {
    print(out, one, bound);
    rows.push_back({{"policy", one.policy},
                    {"least_budget_bytes", one.least_budget_bytes},
                    {"points", points_json(one)}});
    if (one.policy == "auto") main = &one;
  }
  const std::string title =
      fmt::format("{}, batch {}, on {}: time against budget", sweeper.job().program().name,
                  sweeper.graph().batch(), sweeper.job().device().name);
  write_json({{"model", sweeper.job().program().name},
              {"batch", sweeper.graph().batch()},
              {"device", sweeper.job().device().name},
              {"policy", main->policy},
              {"least_budget_bytes", main->least_budget_bytes},
              {"lower_bound_bytes", bound},
              {"oracle_seconds", sweeper.oracle_seconds()},
              {"points", points_json(*main)},
              {"policies", rows}},
             options.json);
  if (!options.svg.empty()) {
    write_whole_file(options.svg, chart(title, sweeps, sweeper.most_bytes()));
    say("chart written to {}\n", options.svg);
  }
}

}  // namespace

void add_sweep(CLI::App& app) {
  auto options = std::make_shared<SweepOptions>();
  auto* command = app.add_subcommand("sweep", "Time against budget, for every policy");
  command->footer(
      "Example: vdnn sweep vgg-16 --batch 32 --points 12 --svg sweep.svg; with --steps 3 also measured");
  options->add_to(*command);
  options->add_policy_to(*command);
  command->add_option("--points", options->points, "Budgets, from the least to network-wide")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  command->add_option("--svg", options->svg, "Draw time against budget into this file")->check(not_empty());
  command->callback([options] { sweep(*options); });
}

}  // namespace vdnn::cli
