#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "train/values_between_steps.h"
#include "vdnn/device.h"
#include "vdnn/executor.h"
#include "vdnn/plan.h"

namespace vdnn {

struct PlanRunnerOptions {
  int threads = 1;
  std::string spill_directory;
  std::shared_ptr<Tier> tier;      // instead of the device's host memory, or of a disk tier
  std::shared_ptr<Tier> far_tier;  // instead of a disk tier
  bool poison = false;
  double random_delay_seconds = 0;
  std::uint64_t delay_seed = 0;
};

// All that one plan takes while it runs: arena, tiers, executor.
class PlanRunner {
 public:
  // `executable` must outlive it. The plan has passed verify_plan. Throws DeviceError or StorageError when
  // memory or disk cannot be had.
  PlanRunner(Executable& executable, Plan plan, const PlanRunnerOptions& options);
  PlanRunner(const PlanRunner&) = delete;
  PlanRunner& operator=(const PlanRunner&) = delete;

  [[nodiscard]] const Plan& plan() const { return plan_; }
  [[nodiscard]] Tiers tiers() const { return {near_.get(), far_.get()}; }
  // "host memory, pinned, 3.2 GiB; disk /var/tmp, io_uring, direct"; empty where nothing moves.
  [[nodiscard]] std::string tiers_description() const;
  [[nodiscard]] DeviceContext& context() { return *context_; }
  [[nodiscard]] Executor& executor() { return executor_; }
  [[nodiscard]] ValuesBetweenSteps& values() { return values_; }

 private:
  Plan plan_;
  std::shared_ptr<Tier> near_;
  std::shared_ptr<Tier> far_;
  std::unique_ptr<DeviceContext> context_;
  Executor executor_;
  ValuesBetweenSteps values_;
};

// Replaces the runner, between steps, by one of another plan, and hands over every bit of what persists, by
// way of a disk tier and a few MiB of host memory. A StorageError leaves the runner as it was; a DeviceError
// leaves none, and what persisted is lost.
void hand_over(Executable& executable, std::unique_ptr<PlanRunner>& runner, Plan next,
               const PlanRunnerOptions& options);

}  // namespace vdnn
