#include <fmt/format.h>

#include "cli/alternatives.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/report.h"
#include "cli/run_options.h"
#include "cli/step_json.h"
#include "cli/trace.h"
#include "vdnn/bytes.h"
#include "vdnn/error.h"
#include "vdnn/replan.h"
#include "vdnn/whole_file.h"

namespace vdnn::cli {
namespace {

struct TrainOptions : RunOptions {
  std::string save;
  std::string plan;
  std::string trace;
};

constexpr std::size_t kStepsTraced = 16;  // the last ones

// A plan of `vdnn plan -o`; whether it is sound, the session checks.
Plan read_plan_file(const TrainOptions& options, const Program& program) {
  if (!options.policy.empty() || !options.algorithms.empty() || !options.memory.empty()) {
    throw UsageError(
        "--plan says policy, algorithms and memory itself; leave out --policy, --algorithms and --memory");
  }
  try {
    Plan plan = read_plan(read_whole_file(options.plan));
    if (!verify_plan(program, plan).empty()) return plan;
    for (const auto& violation : verify_origin(program, plan)) throw UsageError(violation);
    return plan;
  } catch (const ModelError& error) {
    throw ModelError(fmt::format("{}: {}", options.plan, error.what()));
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("{}: {}", options.plan, error.what()));
  }
}

void describe(const Run& run, const Plan& plan) {
  const auto& program = run.job->program();
  say("{}, batch {}, {} with {} algorithms, {}: {} planned of {}\n", program.name, run.batch, plan.policy,
      algorithms_name(plan.algorithms), run.job->device().name, format_bytes(plan.peak_bytes),
      format_bytes(plan.budget_bytes));
}

// After the third step, and every fiftieth: where times turned out otherwise than assumed, goes on under a
// plan for the times as they are.
class Replanner {
 public:
  Replanner(Job& job, Session& session) : job_(job), session_(session) {}

  void after(std::size_t steps_done) {
    constexpr std::size_t kFirst = 3;
    constexpr std::size_t kEvery = 50;
    const StepTimes times = session_.last_step().times;
    if (steps_done > 1 && !times.empty()) times_.push_back(times);  // the first makes code
    if (steps_done != kFirst && steps_done % kEvery != 0) return;
    auto better = replan(job_, session_.plan(), times_);
    times_.clear();
    if (!better) return;
    try {
      session_.change_plan(std::move(better->plan));
    } catch (const BudgetError& error) {
      return say("the plan stays, though times are not as assumed: {}\n", error.what());
    } catch (const StorageError& error) {
      return say("the plan stays, though times are not as assumed: {}\n", error.what());
    }
    std::string ratios;
    for (const auto stream : kStreamKinds) {
      if (better->ratio(stream) != 1)
        ratios += fmt::format(" {} {:.2f}", stream_name(stream), better->ratio(stream));
    }
    say("after step {}: times over what was assumed:{}; planned again, {} a step instead of {}\n", steps_done,
        ratios, seconds_text(better->seconds_now), seconds_text(better->seconds_before));
  }

 private:
  Job& job_;
  Session& session_;
  std::vector<StepTimes> times_;
};

std::vector<StepReport> train_steps(const Run& run, Session& session, std::int64_t count,
                                    std::vector<MeasuredStep>* traced, bool replans) {
  std::vector<StepReport> reports;
  Progress progress("step");
  Replanner replanner(*run.job, session);
  while (static_cast<std::int64_t>(reports.size()) < count && !interrupted()) {
    reports.push_back(session.step());
    if (traced != nullptr) {
      if (traced->size() == kStepsTraced) traced->erase(traced->begin());
      traced->push_back(session.last_step());
    }
    // A trace is of one plan, and a plan from a file is to be run.
    if (replans) replanner.after(reports.size());
    const auto done = static_cast<std::int64_t>(reports.size());
    progress.show(
        done, count,
        fmt::format("{}/{} loss {:.4f} {:.1f} images/s {} in use, {} left", done, count, reports.back().loss,
                    static_cast<double>(run.batch) / reports.back().seconds,
                    format_bytes(session.plan().peak_bytes), clock_text(progress.seconds_left(done, count))));
  }
  return reports;
}

nlohmann::json train_json(const Run& run, Session& session, const RunTotals& totals,
                          const std::vector<StepReport>& reports, bool stopped) {
  const Program& program = run.job->program();
  const Plan& plan = session.plan();
  auto json = run_json(run, plan, totals, reports);
  json["policies"] =
      alternatives_json(program, program, {.budget_bytes = plan.budget_bytes, .assignment = plan.assignment});
  json.update(peak_json(program, plan, simulate(program, plan, {})));
  if (!reports.empty()) json.update(step_json(program, plan, session.last_step().times));
  json["interrupted"] = stopped;
  json["weights_digest"] = session.weights_digest();
  return json;
}

void train(const TrainOptions& options) {
  watch_for_interrupts();
  check_replaceable(options.save);
  check_writable(options.trace);
  Run run = open_run(options);
  Plan plan = options.plan.empty() ? plan_job(*run.job, options, run.budget_bytes)
                                   : read_plan_file(options, run.job->program());
  SessionOptions settings = session_options(options);
  if (!options.trace.empty() || !options.json.empty()) settings.measures_every_step = true;
  Session session(*run.job, std::move(plan), run.data, settings);
  describe(run, session.plan());
  const std::int64_t count = step_count(options, session.steps_per_epoch(), session.steps_per_epoch());
  std::vector<MeasuredStep> traced;
  const auto reports = train_steps(run, session, count, options.trace.empty() ? nullptr : &traced,
                                   options.trace.empty() && options.plan.empty());
  const RunTotals totals = session.totals();
  const bool stopped = static_cast<std::int64_t>(reports.size()) < count;
  if (stopped) say("interrupted: {} of {} steps done, all of them whole\n", reports.size(), count);
  tell(options.json == "-" ? stderr : stdout, "{}", run_text(run, session.plan(), totals, reports));
  // The weights first: they are what the time went into. Untrained ones replace nothing.
  if (!options.save.empty() && !reports.empty()) {
    session.save(options.save);
    say("weights saved to {}\n", options.save);
  }
  if (!options.trace.empty()) {
    write_trace(options.trace, run.job->program(), session.plan(), traced);
    say("the last {} steps written to {}; open it in ui.perfetto.dev or chrome://tracing\n", traced.size(),
        options.trace);
  }
  if (!options.json.empty()) write_json(train_json(run, session, totals, reports, stopped), options.json);
  if (stopped) throw Exit{kFailed};
}

}  // namespace

void add_train(CLI::App& app) {
  auto options = std::make_shared<TrainOptions>();
  auto* command = app.add_subcommand("train", "Train a network inside a memory budget");
  command->footer("Example: vdnn train vgg-16 --batch 32 --memory 2.4GiB --policy vdnn-all --steps 3");
  options->add_to(*command);
  options->add_policy_to(*command);
  command->add_option("--plan", options->plan, "Run this plan of `vdnn plan -o` instead of making one")
      ->check(not_empty());
  command->add_option("--trace", options->trace, "Write the last 16 steps as trace events, for Perfetto")
      ->check(not_empty());
  command->add_option("--save", options->save, "Write the weights as safetensors when done")
      ->check(not_empty());
  command->callback([options] { with_budget_report(options->json, [&] { train(*options); }); });
}

}  // namespace vdnn::cli
