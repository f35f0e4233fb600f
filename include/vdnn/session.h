#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "vdnn/dataset.h"
#include "vdnn/device.h"
#include "vdnn/graph.h"
#include "vdnn/plan.h"
#include "vdnn/timeline.h"

namespace vdnn {

struct JobOptions {
  std::string device = "cpu";
  DeviceOptions device_options{};
  int threads = 0;  // 0: as many as the process may use
  SgdAttributes optimizer{};
  // Directory of measured kernel times; empty: $XDG_CACHE_HOME/vdnn, else ~/.cache/vdnn.
  std::string cache_directory;
  std::string spill_directory;  // that links() measures; empty: $VDNN_SPILL, else /var/tmp
  std::optional<Links> links;   // assumed instead of measured
  // Of host memory below a device with memory of its own, refused for others: what moves and does not fit
  // there goes to disk. -1: what is free, less a reserve.
  std::int64_t host_memory_bytes = -1;
  // Called while kernels are measured.
  std::function<void(std::int64_t done, std::int64_t total)> on_measure;
};

// A network differentiated and lowered to a device, ready to be planned and trained, any number of times.
class Job {
 public:
  // Throws UsageError for an unknown device or options that it does not have, UnsupportedError for ops that
  // it lacks.
  Job(const Graph& graph, const JobOptions& options);
  ~Job();
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  [[nodiscard]] const TrainingGraph& graph() const;
  [[nodiscard]] const Program& program() const;
  [[nodiscard]] DeviceDescription device() const;
  [[nodiscard]] Executable& executable();
  [[nodiscard]] int threads() const;
  // True on a device that is only described: its kernels have their times, and nothing runs.
  [[nodiscard]] bool is_described() const;

  // Plans and verifies. Measures kernels first where the algorithms are chosen by speed and their times are
  // not known. Throws BudgetError where the budget cannot hold, UsageError for unknown policies.
  Plan plan(const PlanRequest& request);

  // Plans with auto; or, where the algorithms are given, with the policy that moves least among those
  // that fit: baseline, vdnn-conv, vdnn-all. Throws BudgetError where none fits.
  Plan plan_best(std::int64_t budget_bytes, std::optional<Algorithms> algorithms = {});

  // Times every kernel, as predicting a step needs it; where the times are known this is quick. Planning by
  // itself times only kernels that have a choice.
  void measure_all_kernels();

  // The program with its kernels' seconds as they were inside training steps, where an earlier run kept them:
  // for predictions. Algorithms are chosen by program()'s.
  [[nodiscard]] Program program_in_steps() const;

  // Keeps the kernels' times of whole training steps under a plan, for later predictions.
  void keep_step_times(const Plan& plan, const std::vector<StepTimes>& steps);

  // How fast the device copies to disk, and what that costs its kernels; kept per machine and disk, measured
  // in two seconds where it is not known. Throws StorageError where the directory cannot be used.
  [[nodiscard]] Links links();
  // The same, but what is assumed of links where the directory cannot be used.
  [[nodiscard]] Links links_or_assumed();

  // The budget that a run gets when none is given: what is free, less a reserve.
  [[nodiscard]] std::int64_t default_budget_bytes() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

struct SessionOptions {
  std::uint64_t seed = 1;
  double learning_rate = 0.01;
  std::string spill_directory;      // empty: $VDNN_SPILL, else /var/tmp
  std::shared_ptr<Tier> tier;       // instead of the device's host memory, or of a disk tier
  std::shared_ptr<Tier> far_tier;   // instead of a disk tier
  bool measures_every_step = true;  // false: some, where measuring costs time (DeviceContext::measure)
  bool poison = false;              // tests: fill released memory with NaN
  double random_delay_seconds = 0;  // tests: delay all work at random
};

struct StepReport {
  std::int64_t step = 0;  // from 0
  double loss = 0;
  double seconds = 0;
};

// When each step of the plan ran in the last training step, in nanoseconds from its begin.
struct MeasuredStep {
  double begin_seconds = 0;  // from when the session, or its present plan, began
  StepTimes times;
};

struct RunTotals {
  std::int64_t peak_bytes = 0;           // measured
  std::int64_t executed_peak_bytes = 0;  // highest address passed to the device
  std::int64_t offloaded_bytes = 0;
  std::int64_t prefetched_bytes = 0;
  StreamTimes times;                // of the steps that were measured
  std::int64_t resident_bytes = 0;  // highest resident set of the process, measuring left out
  std::string tier;                 // descriptions of those in use; empty where nothing moves

  // One minus stalls over copies; 1 where nothing was copied.
  [[nodiscard]] double hidden_copy_share() const;
};

// One training run of a job under a plan: arena, tier, weights and data. One thread uses it.
class Session {
 public:
  // `job` must outlive the session. Takes all memory and disk space at once. Throws UsageError for a plan
  // that the verifier refuses and BudgetError where the plan needs more than what is free, before anything is
  // taken; DeviceError or StorageError when memory or disk cannot be had all the same, and StorageError when
  // the data has less than one batch.
  Session(Job& job, Plan plan, std::shared_ptr<const Dataset> data, const SessionOptions& options);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Trains one batch. After an exception the session may only be destroyed.
  StepReport step();

  // Goes on under another plan for the same kernels, between two steps: what persists is handed over by way
  // of the disk, so that no more memory is taken than the larger plan needs. Throws UsageError for a plan
  // that the verifier refuses, or that runs other candidates, which would change results, BudgetError where
  // it does not fit, StorageError where the disk does not hold what is handed over: the session then goes on
  // as it was. Throws DeviceError where memory or disk fail when the old plan is gone; the session is then
  // over.
  void change_plan(Plan plan);

  [[nodiscard]] const Plan& plan() const;
  [[nodiscard]] RunTotals totals() const;
  // Empty before the first step, and after one that was not measured.
  [[nodiscard]] MeasuredStep last_step() const;
  [[nodiscard]] std::int64_t steps_per_epoch() const;

  // Calls `visit` with each weight in pieces, in a fixed order, between steps.
  using WeightVisitor =
      std::function<void(const Parameter& parameter, std::int64_t first, std::span<const float> values)>;
  void visit_weights(const WeightVisitor& visit);

  // A hash of all weights' bits: equal runs have equal digests.
  std::string weights_digest();

  // Writes all weights as safetensors; the file appears whole or not at all.
  void save(const std::string& path);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace vdnn
