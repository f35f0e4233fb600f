#include "cli/study/cpu_study.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "cli/output.h"
#include "cli/picture/bar_chart.h"
#include "cli/progress.h"
#include "cli/report.h"
#include "vdnn/bytes.h"
#include "vdnn/dataset.h"
#include "vdnn/session.h"
#include "vdnn/zoo.h"

namespace vdnn::cli {
namespace {

struct SmallNetwork {
  const char* model;
  std::int64_t batch;
  std::int64_t image;

  [[nodiscard]] std::string name() const { return fmt::format("{} ({}, {})", model, batch, image); }
};

// In the order of the paper's ten.
constexpr std::array<SmallNetwork, kPaperNetworkCount> kNetworks = {{{"alexnet", 32, 224},
                                                                     {"overfeat", 8, 231},
                                                                     {"googlenet", 32, 112},
                                                                     {"vgg-16", 4, 112},
                                                                     {"vgg-16", 8, 112},
                                                                     {"vgg-16", 16, 112},
                                                                     {"vgg-116", 4, 32},
                                                                     {"vgg-216", 4, 32},
                                                                     {"vgg-316", 4, 32},
                                                                     {"vgg-416", 4, 32}}};
constexpr std::int64_t kClasses = 100;
constexpr std::int64_t kNoLimit = std::int64_t{1} << 50;

std::unique_ptr<Job> open(const SmallNetwork& network, const CpuStudyOptions& options) {
  return std::make_unique<Job>(
      make_model(network.model, {.batch = network.batch, .image = network.image, .classes = kClasses}),
      JobOptions{.device = "cpu",
                 .threads = options.threads,
                 .optimizer = {.momentum = 0, .weight_decay = 0},
                 .cache_directory = options.cache,
                 .spill_directory = options.spill});
}

std::unique_ptr<Session> train(Job& job, const Plan& plan, const CpuStudyOptions& options) {
  return std::make_unique<Session>(job, plan, open_dataset("synthetic", kClasses, 1),
                                   SessionOptions{.learning_rate = 0.001, .spill_directory = options.spill});
}

struct CpuCase {
  SmallNetwork network{};
  std::string policy;
  Plan plan;
  double predicted_seconds = 0;
  double predicted_slowdown = 0;
  std::vector<double> measured_seconds;  // by round
  double measured_slowdown = 0;          // against the oracle of the same network
  RunTotals totals;

  [[nodiscard]] double error() const { return predicted_seconds / median(measured_seconds) - 1; }
};

std::vector<CpuCase> plan_cases(Job& job, const SmallNetwork& network) {
  std::vector<CpuCase> cases;
  const auto add = [&](const std::string& label, const PlanRequest& request) {
    cases.push_back({.network = network, .policy = label, .plan = job.plan(request)});
  };
  add("oracle", {.policy = "oracle", .algorithms = Algorithms::performance});
  for (const auto& policy : study_policies()) {
    if (policy.policy == "vdnn-dyn") continue;
    add(policy.label, {.policy = policy.policy, .algorithms = policy.algorithms, .budget_bytes = kNoLimit});
    // What it takes is also what it is given: less is refused, more changes nothing.
    cases.back().plan.budget_bytes = cases.back().plan.peak_bytes;
  }
  // Two budgets between the least and all.
  const auto leanest =
      std::find_if(cases.begin(), cases.end(), [](const auto& one) { return one.policy == "all (m)"; });
  const std::int64_t least = leanest->plan.peak_bytes;
  const std::int64_t most = job.plan({.policy = "vdnn-dyn", .budget_bytes = kNoLimit}).peak_bytes;
  for (const int tenths : {1, 5}) {
    add(fmt::format("dyn {}0 %", tenths),
        {.policy = "vdnn-dyn", .budget_bytes = least + (most - least) * tenths / 10});
  }
  return cases;
}

// As many cases side by side as half the free memory holds, in turn, so that the machine's moods hit all
// alike. Returns the first case that is left.
std::size_t measure_from(Job& job, std::vector<CpuCase>& cases, std::size_t begin,
                         const CpuStudyOptions& options) {
  const std::int64_t room_bytes = job.device().free_bytes / 2;
  std::vector<std::unique_ptr<Session>> sessions;
  std::int64_t taken_bytes = 0;
  std::size_t end = begin;
  while (end < cases.size() && (end == begin || taken_bytes + cases[end].plan.peak_bytes <= room_bytes)) {
    taken_bytes += cases[end].plan.peak_bytes;
    sessions.push_back(train(job, cases[end].plan, options));
    sessions.back()->step();  // makes code
    ++end;
  }
  for (std::int64_t round = 0; round < options.steps; ++round) {
    for (std::size_t i = begin; i < end; ++i)
      cases[i].measured_seconds.push_back(sessions[i - begin]->step().seconds);
  }
  for (std::size_t i = begin; i < end; ++i) cases[i].totals = sessions[i - begin]->totals();
  return end;
}

std::vector<CpuCase> run_network(const SmallNetwork& network, const CpuStudyOptions& options) {
  const auto job = open(network, options);
  job->measure_all_kernels();
  std::vector<CpuCase> cases = plan_cases(*job, network);
  const Program program = job->program_in_steps();
  const Links links = job->links();
  for (auto& one : cases) {
    one.predicted_seconds = simulate(program, one.plan, links).step_seconds;
    one.predicted_slowdown = one.predicted_seconds / cases[0].predicted_seconds;
  }
  for (std::size_t begin = 0; begin < cases.size();) begin = measure_from(*job, cases, begin, options);
  for (auto& one : cases)
    one.measured_slowdown = median(one.measured_seconds) / median(cases[0].measured_seconds);
  return cases;
}

std::vector<double> absolute_errors(const std::vector<CpuCase>& cases) {
  std::vector<double> errors;
  for (const auto& one : cases) errors.push_back(std::abs(one.error()));
  return errors;
}

bool peak_is_equal(const CpuCase& one) {
  // The measured peak comes from the pages of the mapping.
  constexpr std::int64_t kPage = 4096;
  return one.totals.executed_peak_bytes == one.plan.peak_bytes &&
         one.totals.peak_bytes == (one.plan.peak_bytes + kPage - 1) / kPage * kPage;
}

Table prediction_table(const std::vector<CpuCase>& cases) {
  Table table{.name = "prediction",
              .title = "Predicted and measured",
              .note =
                  "Every case, none left out. Predicted: from kernel and copy times that an earlier process "
                  "kept. Measured: the "
                  "median of steps that all cases of a network took in turn.",
              .columns = {{"network (batch, image)"},
                          {"policy"},
                          {"budget", Unit::bytes},
                          {"peak equal"},
                          {"offloaded", Unit::bytes},
                          {"predicted", Unit::seconds},
                          {"measured", Unit::seconds},
                          {"error", Unit::share},
                          {"predicted x oracle", Unit::ratio},
                          {"measured x oracle", Unit::ratio}}};
  for (const auto& one : cases) {
    const double steps = static_cast<double>(one.measured_seconds.size() + 1);
    table.rows.push_back({one.network.name(), one.policy, static_cast<double>(one.plan.budget_bytes),
                          peak_is_equal(one) ? "yes" : "no",
                          static_cast<double>(one.totals.offloaded_bytes) / steps, one.predicted_seconds,
                          median(one.measured_seconds), one.error(), one.predicted_slowdown,
                          one.measured_slowdown});
  }
  return table;
}

Table summary_table(const std::vector<CpuCase>& cases) {
  const std::vector<double> errors = absolute_errors(cases);
  std::vector<double> slowdown_errors;
  for (const auto& one : cases)
    slowdown_errors.push_back(std::abs(one.predicted_slowdown / one.measured_slowdown - 1));
  const auto equal = std::count_if(cases.begin(), cases.end(), peak_is_equal);
  const auto per_cent = [](double share) { return fmt::format("{:.1f} %", 100 * share); };
  return {.name = "accuracy",
          .title = "How good the predictions are",
          .note = "Errors of predicted step times, absolute, relative to what was measured.",
          .columns = {{"what"}, {"value"}},
          .rows = {{"cases", std::to_string(cases.size())},
                   {"peaks equal to the plan's", fmt::format("{} of {}", equal, cases.size())},
                   {"step time, median error", per_cent(median(errors))},
                   {"step time, largest error", per_cent(*std::max_element(errors.begin(), errors.end()))},
                   {"ratio to the oracle, median error", per_cent(median(slowdown_errors))}}};
}

std::string slowdown_chart(const std::vector<CpuCase>& cases) {
  BarChart chart{.title = "Time of a step against the oracle's, measured", .unit = "x"};
  for (const auto& network : kNetworks) chart.groups.push_back(network.name());
  for (const char* label : {"all (p)", "conv (p)", "dyn 10 %", "dyn 50 %"}) {
    auto& series = chart.series.emplace_back(BarChart::Series{.name = label, .values = {}});
    for (const auto& one : cases) {
      if (one.policy == label) series.values.emplace_back(one.measured_slowdown);
    }
  }
  chart.limit = BarChart::Limit{"oracle", 1};
  return to_svg(chart);
}

}  // namespace

void measure_for_cpu_study(const CpuStudyOptions& options) {
  Progress progress("measuring");
  std::int64_t done = 0;
  for (const auto& network : kNetworks) {
    progress.show(done++, kPaperNetworkCount, network.name());
    const auto job = open(network, options);
    job->measure_all_kernels();
    static_cast<void>(job->links());
    for (const auto algorithms : {Algorithms::performance, Algorithms::memory}) {
      const Plan plan = job->plan({.policy = "oracle", .algorithms = algorithms});
      const auto session = train(*job, plan, options);
      session->step();  // makes code
      std::vector<StepTimes> steps;
      for (std::int64_t step = 0; step < options.steps; ++step) {
        session->step();
        steps.push_back(session->last_step().times);
      }
      job->keep_step_times(plan, steps);
    }
  }
  progress.show(done, kPaperNetworkCount, "done");
}

std::vector<Exhibit> cpu_exhibits(const CpuStudyOptions& options, std::string& heading) {
  std::vector<CpuCase> cases;
  Progress progress("study");
  std::int64_t done = 0;
  for (const auto& network : kNetworks) {
    progress.show(done++, kPaperNetworkCount, network.name());
    const auto more = run_network(network, options);
    say("{}: median error of {} cases {:.1f} %\n", network.name(), more.size(),
        100 * median(absolute_errors(more)));
    cases.insert(cases.end(), more.begin(), more.end());
  }
  progress.show(done, kPaperNetworkCount, "done");
  const DeviceDescription device = open_device("cpu")->description();
  heading = fmt::format(
      "# The paper's policies on the CPU device\n\n{}, {} threads. Made by `vdnn study --device cpu`.\n",
      device.summary, options.threads > 0 ? options.threads : device.threads);
  return {{summary_table(cases), ""}, {prediction_table(cases), slowdown_chart(cases)}};
}

}  // namespace vdnn::cli
