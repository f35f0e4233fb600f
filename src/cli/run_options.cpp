#include "cli/run_options.h"

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <csignal>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <limits>

#include "cli/commands.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "vdnn/bytes.h"
#include "vdnn/error.h"

namespace vdnn::cli {
namespace {

std::atomic<bool> interrupt_seen{false};

double monotonic_seconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// One Ctrl-C may arrive twice, as a signal to the process and to its group.
void on_interrupt(int signal) {
  constexpr double kSameRequestSeconds = 0.3;
  static std::atomic<double> first_at{0};
  if (!interrupt_seen.exchange(true)) {
    first_at = monotonic_seconds();
  } else if (monotonic_seconds() - first_at > kSameRequestSeconds) {
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
}

// CLI11's own range checks print the range's ends to the last of 309 digits.
CLI::Validator whole_number(std::int64_t least) {
  return {[least](const std::string& text) {
            std::int64_t number = 0;
            const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
            const bool good = error == std::errc{} && end == text.data() + text.size() && number >= least;
            return good ? std::string() : fmt::format("'{}' is not a whole number from {}", text, least);
          },
          ""};
}

CLI::Validator number_between(double least, double most) {
  return {[least, most](const std::string& text) {
            double number = 0;
            const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
            const bool good = error == std::errc{} && end == text.data() + text.size() && number >= least &&
                              number <= most && std::isfinite(number);
            if (good) return std::string();
            return std::isfinite(most) ? fmt::format("'{}' is not a number from {} to {}", text, least, most)
                                       : fmt::format("'{}' is not a finite number from {}", text, least);
          },
          ""};
}

constexpr double kNoLimit = std::numeric_limits<double>::infinity();

}  // namespace

CLI::Validator not_empty() {
  return {[](const std::string& text) { return text.empty() ? "must not be empty" : std::string(); }, ""};
}

void NetworkOptions::add_to(CLI::App& command) {
  command.add_option("model", model, "A network of `vdnn models`, or a network file")->required();
  command.add_option("--batch", batch, "Images per step (default 32)")->check(whole_number(1));
  command.add_option("--image", image, "Height and width (default the network's own)")
      ->check(whole_number(1));
  command.add_option("--classes", classes, "Classes of the last layer (default 1000)")
      ->check(whole_number(1));
  command.add_option("--memory", memory, "The budget, such as 2GiB (default what is free)")
      ->check(not_empty());
  command
      .add_option("--device", device,
                  "cpu, cuda (cuda:N), reference, or profile:NAME to predict for a described machine")
      ->capture_default_str();
  command.add_option("--momentum", momentum, "Of stochastic gradient descent")
      ->capture_default_str()
      ->check(number_between(0, 1));
  command.add_option("--weight-decay", weight_decay, "L2 penalty")
      ->capture_default_str()
      ->check(number_between(0, kNoLimit));
  command.add_option("--threads", threads, "Default: as many as the process may use")
      ->check(number_between(1, 4096));
  command
      .add_option("--host-memory", host_memory,
                  "Host memory that a GPU's copies may take (default what is free); the rest goes to disk")
      ->check(not_empty());
  command.add_flag("--tf32", tf32, "On a GPU: products of float32 with 10 bits of mantissa, faster");
  command.add_flag("--fast", fast, "On a GPU: also algorithms whose last bits differ from run to run");
  command.add_option("--spill", spill,
                     "Directory on a disk for offloaded maps (default $VDNN_SPILL, else /var/tmp)");
  command.add_option("--cache", cache, "Directory of measured kernel times (default ~/.cache/vdnn)");
  command.add_option("--json", json, "Write the results to this file; - is standard output")
      ->check(not_empty());
}

void RunOptions::add_to(CLI::App& command) {
  NetworkOptions::add_to(command);
  command.add_option("--data", data, "fashion-mnist, synthetic[:SIZE], or IMAGES,LABELS (IDX files)")
      ->capture_default_str();
  command.add_option("--steps", steps, "Steps to train")->check(whole_number(1));
  command.add_option("--epochs", epochs, "Passes over the data")->check(whole_number(1));
  command.add_option("--lr", learning_rate, "Learning rate")
      ->capture_default_str()
      ->check(number_between(0, kNoLimit));
  command.add_option("--seed", seed, "Of weights, shuffling and dropout")
      ->capture_default_str()
      ->check(whole_number(0));
}

void NetworkOptions::add_policy_to(CLI::App& command) {
  command.add_option("--policy", policy, "One of `vdnn policies` (default auto)")->check(not_empty());
  command.add_option("--algorithms", algorithms,
                     "memory or performance (default performance; auto and vdnn-dyn choose by kernel)");
}

Algorithms parse_algorithms(const std::string& text) {
  if (text == "memory" || text == "m") return Algorithms::memory;
  if (text == "performance" || text == "p") return Algorithms::performance;
  throw UsageError(fmt::format("unknown algorithms '{}'; known: memory, performance", text));
}

void check_replaceable(const std::string& path) {
  check_writable(path);
  std::error_code ignored;
  if (!path.empty() && std::filesystem::exists(path, ignored) &&
      !std::filesystem::is_regular_file(path, ignored))
    throw StorageError(fmt::format("cannot write {}: it exists and is not a regular file", path));
}

bool chooses_algorithms(const std::string& policy) {
  const auto known = policies();
  return std::any_of(known.begin(), known.end(),
                     [&](const auto& info) { return info.name == policy && info.chooses_algorithms; });
}

PlanRequest plan_request(const std::string& policy, const std::string& algorithms,
                         std::int64_t budget_bytes) {
  if (chooses_algorithms(policy) && !algorithms.empty()) {
    throw UsageError(
        fmt::format("{} chooses the algorithms of each layer itself; leave out '{}'", policy, algorithms));
  }
  return {.policy = policy,
          .algorithms = algorithms.empty() ? Algorithms::performance : parse_algorithms(algorithms),
          .budget_bytes = budget_bytes};
}

std::string policy_label(const std::string& policy, const std::string& algorithms) {
  if (algorithms != "memory" && algorithms != "performance") return policy;
  return fmt::format("{} ({})", policy, algorithms.substr(0, 1));
}

std::int64_t least_budget(const std::function<Plan(std::int64_t budget_bytes)>& plan_in) {
  try {
    return plan_in(1).peak_bytes;
  } catch (const BudgetError& error) {
    return error.least_budget_bytes();
  }
}

Links links_or_assumed(Job& job) {
  try {
    return job.links();
  } catch (const StorageError& error) {
    const Links assumed;
    say("copy rates not measured, {:.1f} GB/s out and {:.1f} GB/s in are assumed: {}\n",
        1e-9 * assumed.offload_bytes_per_s, 1e-9 * assumed.prefetch_bytes_per_s, error.what());
    return assumed;
  }
}

Graph make_graph(const NetworkOptions& options) {
  return make_model(options.model,
                    {.batch = options.batch, .image = options.image, .classes = options.classes});
}

std::unique_ptr<Job> open_job(const NetworkOptions& options, const Graph& graph) {
  if (options.fast) say("--fast: algorithms whose last bits differ from run to run are allowed\n");
  auto measuring = std::make_shared<Progress>("measuring kernels");
  return std::make_unique<Job>(
      graph,
      JobOptions{.device = options.device,
                 .device_options = {.tf32 = options.tf32, .deterministic = !options.fast},
                 .threads = options.threads,
                 .optimizer = {.momentum = options.momentum, .weight_decay = options.weight_decay},
                 .cache_directory = options.cache,
                 .spill_directory = options.spill,
                 .host_memory_bytes = options.host_memory.empty() ? -1 : parse_bytes(options.host_memory),
                 .on_measure = [measuring](std::int64_t done, std::int64_t total) {
                   measuring->show(done, total, fmt::format("{}/{}, once per machine", done, total));
                   if (!interrupted()) return;
                   say("interrupted while kernels were measured\n");
                   throw Exit{kFailed};
                 }});
}

Run open_run(const RunOptions& options) {
  check_writable(options.json);
  if (!options.algorithms.empty()) static_cast<void>(parse_algorithms(options.algorithms));
  std::optional<std::int64_t> budget;
  if (!options.memory.empty()) budget = parse_bytes(options.memory);
  const Graph graph = make_graph(options);
  Run run;
  run.batch = graph.batch();
  run.data = open_dataset(options.data, graph.classes(), options.seed);
  require_batch(*run.data, graph.batch());
  run.job = open_job(options, graph);
  if (budget && *budget > run.job->device().free_bytes) {
    throw UsageError(fmt::format("--memory {} is more than the {} that are free", options.memory,
                                 format_bytes(run.job->device().free_bytes)));
  }
  run.budget_bytes = budget.value_or(run.job->default_budget_bytes());
  return run;
}

SessionOptions session_options(const RunOptions& options) {
  return {.seed = options.seed,
          .learning_rate = options.learning_rate,
          .spill_directory = options.spill,
          .measures_every_step = !options.device.starts_with("cuda")};
}

void check_writable(const std::string& path) {
  if (path.empty() || path == "-") return;
  const std::filesystem::path target(path);
  const auto directory = target.has_parent_path() ? target.parent_path() : std::filesystem::path(".");
  if (std::filesystem::is_directory(target))
    throw StorageError(fmt::format("cannot write {}: it is a directory", path));
  std::error_code ignored;
  if (std::filesystem::exists(directory, ignored) && !std::filesystem::is_directory(directory, ignored))
    throw StorageError(fmt::format("cannot write {}: {} is not a directory", path, directory.string()));
  if (access(directory.c_str(), W_OK) != 0) {
    throw StorageError(
        fmt::format("cannot write {}: {}: {}", path, directory.string(), std::strerror(errno)));
  }
}

Plan plan_job(Job& job, const NetworkOptions& options, std::int64_t budget_bytes) {
  if (!options.policy.empty())
    return job.plan(plan_request(options.policy, options.algorithms, budget_bytes));
  std::optional<Algorithms> algorithms;
  if (!options.algorithms.empty()) algorithms = parse_algorithms(options.algorithms);
  return job.plan_best(budget_bytes, algorithms);
}

std::int64_t step_count(const RunOptions& options, std::int64_t steps_per_epoch, std::int64_t otherwise) {
  if (options.steps > 0) return options.steps;
  if (options.epochs > 0) return options.epochs * steps_per_epoch;
  return otherwise;
}

bool interrupted() {
  return interrupt_seen;
}

void watch_for_interrupts() {
  std::signal(SIGINT, on_interrupt);
  std::signal(SIGTERM, on_interrupt);
}

}  // namespace vdnn::cli
