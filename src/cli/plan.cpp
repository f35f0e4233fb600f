#include <fmt/format.h>

#include <algorithm>

#include "cli/alternatives.h"
#include "cli/commands.h"
#include "cli/largest_batch.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/report.h"
#include "cli/run_options.h"
#include "cli/step_json.h"
#include "cli/trace.h"
#include "vdnn/bounds.h"
#include "vdnn/bytes.h"
#include "vdnn/error.h"
#include "vdnn/explain.h"
#include "vdnn/whole_file.h"

namespace vdnn::cli {
namespace {

constexpr std::size_t kResidentsShown = 8;
constexpr std::size_t kTripsShown = 12;
constexpr std::size_t kChoicesShown = 12;

struct PlanOptions : NetworkOptions {
  std::string output;
  std::string trace;
  bool largest_batch = false;
  bool explain = false;
  bool all = false;
};

struct Answer {
  Program program;  // with the times that predictions use
  Plan plan;
  Simulation simulation;
  PlanExplanation explanation;
  ChoiceExplanation choices;
  double oracle_seconds = 0;
  TimeBound bound;
  std::int64_t least_budget_bytes = 0;
  std::int64_t network_wide_bytes = 0;
  double unused_share = 0;
  nlohmann::json alternatives;  // where JSON is asked for
};

Answer answer(Job& job, const PlanOptions& options, std::int64_t budget_bytes) {
  Answer result;
  result.plan = plan_job(job, options, budget_bytes);
  job.measure_all_kernels();
  const Links links = links_or_assumed(job);
  const Program& program = result.program = job.program_in_steps();
  result.simulation = simulate(program, result.plan, links);
  result.explanation = explain_plan(program, result.plan, result.simulation);
  if (options.explain) result.choices = explain_choices(program, result.plan, result.simulation, links);
  result.least_budget_bytes =
      least_budget([&](std::int64_t budget) { return plan_job(job, options, budget); });
  const Plan oracle = job.plan({.policy = "oracle", .algorithms = Algorithms::performance});
  result.oracle_seconds = simulate(program, oracle, links).step_seconds;
  result.bound = time_bound(program, result.plan.budget_bytes, links);
  result.network_wide_bytes = network_wide_bytes(program, result.plan.assignment);
  result.unused_share = unused_share(program, result.plan.assignment);
  if (!options.json.empty()) {
    result.alternatives = alternatives_json(
        job.program(), program,
        {.budget_bytes = budget_bytes, .oracle_seconds = result.oracle_seconds, .links = links});
  }
  return result;
}

void print_memory(FILE* out, const Answer& a) {
  tell(out, "memory    peak {} of {}; least budget {} ({} bytes)\n", format_bytes(a.plan.peak_bytes),
       format_bytes(a.plan.budget_bytes), format_bytes(a.least_budget_bytes), a.least_budget_bytes);
  tell(out, "          network-wide allocation {}, {:.0f} % of it unused at any moment\n",
       format_bytes(a.network_wide_bytes), 100 * a.unused_share);
  std::vector<std::string> roles;
  for (const auto role : kRoles) {
    const auto bytes = a.simulation.peak_bytes_by_role[static_cast<std::size_t>(role)];
    if (bytes > 0) roles.push_back(fmt::format("{} {}", role_name(role), format_bytes(bytes)));
  }
  tell(out, "          live at the peak {}:", format_bytes(a.simulation.peak_live_bytes));
  for (std::size_t i = 0; i < roles.size(); ++i)
    tell(out, "{}{}", i % 3 == 0 ? "\n            " : ", ", roles[i]);
  tell(out, "\n");
}

void print_passes(FILE* out, const Plan& plan) {
  if (plan.passes.empty()) return;
  tell(out, "passes    in the order they were tried:\n");
  for (const auto& pass : plan.passes)
    tell(out, "  {:<20} {:>9}  {}\n", pass.name, format_bytes(pass.peak_bytes),
         pass.fits ? "fits" : "does not fit");
}

void print_peak(FILE* out, const Answer& a, bool all) {
  const auto& residents = a.explanation.residents;
  tell(out, "peak      while {} runs, {} buffers are alive:\n", a.explanation.peak_kernel, residents.size());
  for (std::size_t i = 0; i < residents.size() && (all || i < kResidentsShown); ++i) {
    tell(out, "  {:>9}  {:<22} {}\n", format_bytes(residents[i].bytes), residents[i].name, residents[i].why);
  }
  if (!all && residents.size() > kResidentsShown)
    tell(out, "  and {} smaller ones (--all)\n", residents.size() - kResidentsShown);
}

void print_trips(FILE* out, const Answer& a, bool all) {
  const auto& trips = a.explanation.trips;
  if (trips.empty()) {
    tell(out, "moves     nothing\n");
    return;
  }
  tell(out, "moves     {} out and {} in, in {} trips, {:.1f} % of the copy time hidden:\n",
       format_bytes(a.simulation.offloaded_bytes), format_bytes(a.simulation.prefetched_bytes), trips.size(),
       100 * a.simulation.hidden_copy_share());
  if (a.plan.far_tier_bytes > 0)
    tell(out, "          places for {} in host memory and {} on disk, which is marked *\n",
         format_bytes(a.plan.tier_bytes), format_bytes(a.plan.far_tier_bytes));
  for (std::size_t i = 0; i < trips.size() && (all || i < kTripsShown); ++i) {
    const std::string leaves = trips[i].leaves_with.empty() ? "dropped" : "with " + trips[i].leaves_with;
    tell(out, "  {:>9}{} {:<22} {}, back before {}\n", format_bytes(trips[i].bytes),
         trips[i].tier == TierLevel::far ? '*' : ' ', trips[i].buffer, leaves, trips[i].needed_by);
  }
  if (!all && trips.size() > kTripsShown) tell(out, "  and {} more (--all)\n", trips.size() - kTripsShown);
}

// Of a policy that chooses: what did not get its fastest.
void print_algorithms(FILE* out, const Answer& a, bool all) {
  const auto& algorithms = a.explanation.algorithms;
  if (!a.plan.choices.empty()) {
    const auto stepped_down = std::count_if(algorithms.begin(), algorithms.end(),
                                            [](const auto& choice) { return choice.stepped_down; });
    tell(out, "kernels   {} of {} with a choice run at their fastest\n",
         std::ssize(algorithms) - stepped_down, algorithms.size());
  }
  for (const auto& choice : algorithms) {
    if (!all && !choice.stepped_down) continue;
    tell(out, "  {:<28} {:<22} {:>9}  {}\n", choice.kernel, choice.algorithm,
         format_bytes(choice.workspace_bytes), choice.why);
  }
}

void print_bound(FILE* out, const Answer& a) {
  const double least = a.bound.seconds();
  tell(out, "          no plan in this budget takes less than {}", seconds_text(least));
  if (least > 0) tell(out, ": {:.1f} % above that", 100 * (a.simulation.step_seconds / least - 1));
  tell(out, "\n            kernels {}; what cannot stay at the fullest one comes back in {}\n",
       seconds_text(a.bound.compute_seconds), seconds_text(a.bound.transfer_seconds));
  if (a.simulation.recomputing_launches > 0) {
    tell(out, "          {} kernels run again, to recompute what was let go: {} of the step\n",
         a.simulation.recomputing_launches, seconds_text(a.simulation.recompute_seconds));
  }
}

void print_choices(FILE* out, const ChoiceExplanation& explanation, bool all) {
  const auto& choices = explanation.choices;
  tell(out, "choices   for buffers of at least a hundredth of the peak, largest first:\n");
  for (std::size_t i = 0; i < choices.size() && (all || i < kChoicesShown); ++i) {
    const BufferChoice& one = choices[i];
    tell(out, "  {:>9}  {}: {} between {} and {}\n", format_bytes(one.bytes), one.buffer, one.choice,
         one.used_by, one.next_used_by);
    tell(out, "             {}\n", one.why);
    if (one.next_best.empty()) {
      tell(out, "             nothing else is possible\n");
    } else {
      tell(out, "             next best: {}, for about {:.4f} s a step\n", one.next_best,
           one.next_best_seconds);
    }
  }
  if (!all && choices.size() > kChoicesShown)
    tell(out, "  and {} more (--all)\n", choices.size() - kChoicesShown);
  if (!explanation.shrink_for_memory.empty())
    tell(out, "shrink    {} first, to need less memory: the kernel at the peak uses it\n",
         explanation.shrink_for_memory);
  if (!explanation.shrink_for_time.empty())
    tell(out, "          {} first, to be faster in this budget: kernels wait longest for it\n",
         explanation.shrink_for_time);
}

void print_text(FILE* out, const Job& job, const Graph& graph, const Answer& a, const PlanOptions& options) {
  tell(out, "{}, batch {}, on {}: fits in {} under {}\n", job.program().name, graph.batch(),
       job.device().name, format_bytes(a.plan.budget_bytes), a.plan.policy);
  print_memory(out, a);
  if (a.simulation.step_seconds > 0 && a.oracle_seconds > 0) {
    tell(out, "time      {} a step predicted, {:.3f} x the oracle's {}\n",
         seconds_text(a.simulation.step_seconds), a.simulation.step_seconds / a.oracle_seconds,
         seconds_text(a.oracle_seconds));
    print_bound(out, a);
  }
  print_passes(out, a.plan);
  print_algorithms(out, a, options.all);
  print_trips(out, a, options.all);
  print_peak(out, a, options.all);
  if (options.explain) print_choices(out, a.choices, options.all);
}

// Of the plan's kernels, one after the other with no copies beside them.
double kernel_seconds_alone(const Program& program, const Plan& plan) {
  double seconds = 0;
  for (const auto& step : plan.steps) {
    if (step.kind != StepKind::launch) continue;
    const auto candidate = static_cast<std::size_t>(plan.assignment[step.kernel.index()]);
    seconds += program.kernel(step.kernel).candidates[candidate].seconds;
  }
  return seconds;
}

nlohmann::json interval_json(const Interval& nanoseconds) {
  return {1e-9 * static_cast<double>(nanoseconds.begin), 1e-9 * static_cast<double>(nanoseconds.end)};
}

nlohmann::json choices_json(const ChoiceExplanation& explanation) {
  nlohmann::json rows = nlohmann::json::array();
  for (const auto& one : explanation.choices) {
    rows.push_back({{"buffer", one.buffer},
                    {"role", role_name(one.role)},
                    {"bytes", one.bytes},
                    {"used_by", one.used_by},
                    {"next_used_by", one.next_used_by},
                    {"choice", one.choice},
                    {"why", one.why},
                    {"next_best", one.next_best},
                    {"next_best_seconds", one.next_best_seconds},
                    {"excess_if_kept_bytes", one.excess_if_kept_bytes}});
  }
  return {{"buffers", rows},
          {"shrink_for_memory", explanation.shrink_for_memory},
          {"shrink_for_time", explanation.shrink_for_time}};
}

nlohmann::json plan_report_json(const Job& job, const Graph& graph, const Answer& a) {
  nlohmann::json trips = nlohmann::json::array();
  for (const auto& trip : a.explanation.trips) {
    trips.push_back({{"buffer", trip.buffer},
                     {"bytes", trip.bytes},
                     {"tier", trip.tier == TierLevel::far ? "far" : "near"},
                     {"leaves_with", trip.leaves_with},
                     {"needed_by", trip.needed_by},
                     {"offload_seconds", interval_json(trip.offload_nanoseconds)},
                     {"prefetch_seconds", interval_json(trip.prefetch_nanoseconds)}});
  }
  nlohmann::json algorithms = nlohmann::json::array();
  for (const auto& one : a.explanation.algorithms) {
    algorithms.push_back({{"kernel", one.kernel},
                          {"algorithm", one.algorithm},
                          {"workspace_bytes", one.workspace_bytes},
                          {"seconds", one.seconds},
                          {"why", one.why}});
  }
  nlohmann::json passes = nlohmann::json::array();
  for (const auto& pass : a.plan.passes)
    passes.push_back({{"name", pass.name}, {"peak_bytes", pass.peak_bytes}, {"fits", pass.fits}});
  nlohmann::json report = {
      {"model", job.program().name},
      {"batch", graph.batch()},
      {"device", job.device().name},
      {"policy", a.plan.policy},
      {"algorithms_asked", algorithms_name(a.plan.algorithms)},
      {"fits", true},
      {"budget_bytes", a.plan.budget_bytes},
      {"peak_bytes", a.plan.peak_bytes},
      {"least_budget_bytes", a.least_budget_bytes},
      {"network_wide_bytes", a.network_wide_bytes},
      {"unused_share", a.unused_share},
      {"average_bytes", a.simulation.average_live_bytes},
      {"peak_live_bytes", a.simulation.peak_live_bytes},
      {"peak_bytes_by_role", bytes_by_role_json(a.simulation)},
      {"predicted_seconds", a.simulation.step_seconds},
      {"oracle_seconds", a.oracle_seconds},
      {"alone_seconds", kernel_seconds_alone(a.program, a.plan)},
      {"slowdown", a.oracle_seconds > 0 ? a.simulation.step_seconds / a.oracle_seconds : 0},
      {"lower_bound_seconds", a.bound.seconds()},
      {"lower_bound_compute_seconds", a.bound.compute_seconds},
      {"lower_bound_transfer_seconds", a.bound.transfer_seconds},
      {"recompute_seconds", a.simulation.recompute_seconds},
      {"recomputing_launches", a.simulation.recomputing_launches},
      {"stall_seconds", a.simulation.stall_seconds},
      {"hidden_copy_share", a.simulation.hidden_copy_share()},
      {"offloaded_bytes", a.simulation.offloaded_bytes},
      {"prefetched_bytes", a.simulation.prefetched_bytes},
      {"tier_bytes", a.plan.tier_bytes},
      {"far_tier_bytes", a.plan.far_tier_bytes},
      {"passes", passes},
      {"algorithms", algorithms},
      {"trips", trips},
      {"policies", a.alternatives}};
  if (!a.choices.choices.empty()) report["choices"] = choices_json(a.choices);
  report.update(peak_json(a.program, a.plan, a.simulation));
  report.update(step_json(a.program, a.plan, a.simulation.step_nanoseconds));
  return report;
}

void plan(const PlanOptions& options) {
  check_writable(options.json);
  check_writable(options.output);
  check_writable(options.trace);
  if (options.largest_batch) {
    if (!options.output.empty() || !options.trace.empty() || options.explain || options.all)
      throw UsageError(
          "--largest-batch makes no plan to write or explain; leave out --output, --trace, --explain and "
          "--all");
    return largest_batches(options);
  }
  std::optional<std::int64_t> budget;
  if (!options.memory.empty()) budget = parse_bytes(options.memory);
  const Graph graph = make_graph(options);
  const auto job = open_job(options, graph);
  const Answer found = answer(*job, options, budget.value_or(job->default_budget_bytes()));
  print_text(options.json == "-" ? stderr : stdout, *job, graph, found, options);
  if (!options.json.empty()) write_json(plan_report_json(*job, graph, found), options.json);
  if (!options.trace.empty()) {
    write_trace(options.trace, found.program, found.plan, {{.times = found.simulation.step_nanoseconds}});
    say("predicted step written to {}; open it in ui.perfetto.dev or chrome://tracing\n", options.trace);
  }
  if (!options.output.empty()) {
    write_whole_file(options.output, to_json(found.plan) + '\n');
    say("plan written to {}\n", options.output);
  }
}

}  // namespace

void add_plan(CLI::App& app) {
  auto options = std::make_shared<PlanOptions>();
  auto* command = app.add_subcommand("plan", "Will it fit, how fast, and what moves when");
  command->footer(
      "Example: vdnn plan vgg-16 --batch 64 --memory 4GiB -o vgg.plan; vdnn train vgg-16 --batch 64 --plan "
      "vgg.plan --steps 3");
  options->add_to(*command);
  options->add_policy_to(*command);
  command->add_option("-o,--output", options->output, "Write the plan, for `vdnn train --plan`")
      ->check(not_empty());
  command->add_option("--trace", options->trace, "Write the predicted step as trace events, for Perfetto")
      ->check(not_empty());
  command->add_flag("--largest-batch", options->largest_batch,
                    "Find the largest batch that fits, for each policy");
  command->add_flag(
      "--explain", options->explain,
      "Say for each large buffer why it was kept, moved or recomputed, and what else would cost");
  command->add_flag("--all", options->all, "Show every move, kernel and buffer");
  command->callback([options] { with_budget_report(options->json, [&] { plan(*options); }); });
}

}  // namespace vdnn::cli
