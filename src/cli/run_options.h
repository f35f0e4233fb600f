#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "vdnn/session.h"
#include "vdnn/zoo.h"

namespace vdnn::cli {

// For options where an empty text is a mistake, not "not given".
CLI::Validator not_empty();

// What every command that makes a plan is told.
struct NetworkOptions {
  std::string model;
  std::string device = "cpu";
  std::optional<std::int64_t> batch;
  std::optional<std::int64_t> image;
  std::optional<std::int64_t> classes;
  std::string memory;
  std::string policy;
  std::string algorithms;  // empty: the policy's best
  double momentum = 0.9;
  double weight_decay = 0;
  int threads = 0;
  std::string host_memory;
  bool tf32 = false;
  bool fast = false;
  std::string spill;
  std::string cache;
  std::string json;

  void add_to(CLI::App& command);
  // For commands that make one plan.
  void add_policy_to(CLI::App& command);
};

// What train, verify and bench are told besides.
struct RunOptions : NetworkOptions {
  std::string data = "fashion-mnist";
  std::int64_t steps = 0;  // 0: not given
  std::int64_t epochs = 0;
  double learning_rate = 0.01;
  std::uint64_t seed = 1;

  void add_to(CLI::App& command);
};

Algorithms parse_algorithms(const std::string& text);

// True for policies that take no --algorithms.
bool chooses_algorithms(const std::string& policy);

// The request for a policy with algorithms, or its own where the text is empty. Throws UsageError where the
// policy chooses them itself.
PlanRequest plan_request(const std::string& policy, const std::string& algorithms, std::int64_t budget_bytes);

// "vdnn-all (m)"; the policy alone where its algorithms are neither memory nor performance.
std::string policy_label(const std::string& policy, const std::string& algorithms);

// What a policy would take if it were asked to fit in nothing; `plan_in` plans for a budget.
std::int64_t least_budget(const std::function<Plan(std::int64_t budget_bytes)>& plan_in);

// Planning does not hang on the disk: where its rates cannot be measured, it is said which are assumed.
Links links_or_assumed(Job& job);

Graph make_graph(const NetworkOptions& options);

// The network lowered to the device. Shows progress while kernels are measured.
std::unique_ptr<Job> open_job(const NetworkOptions& options, const Graph& graph);

// Model, data and job of a run, made in an order that finds cheap mistakes first.
struct Run {
  std::shared_ptr<const Dataset> data;
  std::unique_ptr<Job> job;
  std::int64_t budget_bytes = 0;
  std::int64_t batch = 0;
};
Run open_run(const RunOptions& options);

SessionOptions session_options(const RunOptions& options);

// Refuses now what could not be written when the work is done. Throws StorageError.
void check_writable(const std::string& path);
// The same for what must be a regular file.
void check_replaceable(const std::string& path);

// The policy asked for, or the best that fits.
Plan plan_job(Job& job, const NetworkOptions& options, std::int64_t budget_bytes);

// How many steps to train; `otherwise` where neither steps nor epochs are given.
std::int64_t step_count(const RunOptions& options, std::int64_t steps_per_epoch, std::int64_t otherwise);

// True once Ctrl-C or SIGTERM has come; a second one ends the process.
bool interrupted();
void watch_for_interrupts();

}  // namespace vdnn::cli
