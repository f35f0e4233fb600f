#include <fmt/format.h>

#include <bit>
#include <cstdint>

#include "cli/commands.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/report.h"
#include "cli/run_options.h"
#include "vdnn/bytes.h"

namespace vdnn::cli {
namespace {

struct Outcome {
  std::vector<double> losses;
  std::vector<float> weights;
  RunTotals totals;
};

struct VerifyOptions : RunOptions {
  bool poison = false;
};

Outcome run_steps(Run& run, Plan plan, const VerifyOptions& options, bool poison) {
  SessionOptions settings = session_options(options);
  settings.poison = poison;
  const std::int64_t count = step_count(options, run.data->size() / run.batch, 3);
  Outcome outcome;
  Progress progress(plan.policy);
  Session session(*run.job, std::move(plan), run.data, settings);
  for (std::int64_t i = 0; i < count && !interrupted(); ++i) {
    outcome.losses.push_back(session.step().loss);
    progress.show(i + 1, count, fmt::format("step {}/{} loss {:.4f}", i + 1, count, outcome.losses.back()));
  }
  session.visit_weights([&](const Parameter&, std::int64_t, std::span<const float> values) {
    outcome.weights.insert(outcome.weights.end(), values.begin(), values.end());
  });
  outcome.totals = session.totals();
  return outcome;
}

std::uint32_t bits(float value) {
  return std::bit_cast<std::uint32_t>(value);
}
std::uint64_t bits(double value) {
  return std::bit_cast<std::uint64_t>(value);
}

template <class Value>
std::int64_t different_values(const std::vector<Value>& a, const std::vector<Value>& b) {
  std::int64_t count = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (bits(a[i]) != bits(b[i])) ++count;
  }
  return count;
}

void verify(const VerifyOptions& options) {
  watch_for_interrupts();
  if (options.fast)
    throw UsageError("--fast allows bits that differ from run to run, which nothing can be compared with");
  Run run = open_run(options);
  const Plan plan = plan_job(*run.job, options, run.budget_bytes);
  const Plan unlimited = run.job->plan({.policy = "oracle",
                                        .algorithms = plan.algorithms,
                                        .budget_bytes = run.budget_bytes,
                                        .assignment = plan.assignment});
  const Outcome expected = run_steps(run, unlimited, options, false);
  const Outcome got = run_steps(run, plan, options, options.poison);
  if (interrupted() || got.losses.size() != expected.losses.size()) {
    say("interrupted: nothing was compared\n");
    throw Exit{kFailed};
  }
  const std::int64_t losses = different_values(expected.losses, got.losses);
  const std::int64_t weights = different_values(expected.weights, got.weights);
  const bool equal = losses == 0 && weights == 0;
  const auto bytes = static_cast<std::int64_t>(expected.weights.size() * 4 + expected.losses.size() * 8);
  FILE* out = options.json == "-" ? stderr : stdout;
  tell(out, "{}: {} losses and {} weights compared ({}), {} losses and {} weights differ\n",
       equal ? "equal" : "DIFFERENT", expected.losses.size(), expected.weights.size(), format_bytes(bytes),
       losses, weights);
  tell(out, "{} in {} against unlimited memory in {}; {} offloaded, {} prefetched\n", plan.policy,
       format_bytes(got.totals.peak_bytes), format_bytes(expected.totals.peak_bytes),
       format_bytes(got.totals.offloaded_bytes), format_bytes(got.totals.prefetched_bytes));
  write_json({{"equal", equal},
              {"policy", plan.policy},
              {"device", run.job->device().name},
              {"losses_compared", expected.losses.size()},
              {"weights_compared", expected.weights.size()},
              {"bytes_compared", bytes},
              {"losses_different", losses},
              {"weights_different", weights},
              {"losses", got.losses},
              {"peak_bytes", got.totals.peak_bytes},
              {"budget_bytes", plan.budget_bytes},
              {"offloaded_bytes", got.totals.offloaded_bytes},
              {"prefetched_bytes", got.totals.prefetched_bytes}},
             options.json);
  if (!equal) throw Exit{kFailed};
}

}  // namespace

void add_verify(CLI::App& app) {
  auto options = std::make_shared<VerifyOptions>();
  auto* command = app.add_subcommand(
      "verify", "Train twice, with unlimited memory and under a policy, and compare all bits");
  command->footer(
      "Example: vdnn verify googlenet --image 96 --batch 8 --memory 300MiB --policy vdnn-all --steps 3");
  options->add_to(*command);
  options->add_policy_to(*command);
  command->add_flag("--poison", options->poison, "Fill released memory with NaN");
  command->callback([options] { with_budget_report(options->json, [&] { verify(*options); }); });
}

}  // namespace vdnn::cli
