#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "vdnn/device.h"
#include "vdnn/plan.h"

namespace vdnn {

// What lies below the device; null where a plan moves nothing there.
struct Tiers {
  Tier* near = nullptr;
  Tier* far = nullptr;

  [[nodiscard]] Tier* at(TierLevel level) const { return level == TierLevel::near ? near : far; }
};

struct ExecutorOptions {
  // For tests: released addresses are filled with NaN before their next owner gets them.
  bool poison = false;
};

// Runs a plan, step after step, on any device: it walks the plan's steps, turns waits into events and
// places into offsets, and decides nothing. One thread uses it.
class Executor {
 public:
  // All must outlive the executor. The plan must have passed verify_plan. What the arena holds is lost.
  Executor(DeviceContext& context, const Program& program, const Plan& plan, const Tiers& tiers,
           const ExecutorOptions& options);
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  // Enqueues a whole training step and returns while it runs.
  void begin_step(const StepScalars& scalars);

  // Completes when the current step has taken over the staged batch; the next may then be staged.
  [[nodiscard]] EventId batch_taken() const;

  // Waits for the step; throws its first error once everything is idle.
  void end_step();

  // Where a buffer lies when a step is over; persistent ones lie there before the first, too: in the arena
  // or, where the plan has it away, in the tier. Throws UsageError for a buffer that the plan has released by
  // then.
  struct Place {
    std::optional<TierLevel> tier;  // none: in the arena
    std::int64_t offset_bytes = 0;
  };
  [[nodiscard]] Place place_between_steps(BufferId buffer) const;

  // Highest address that was passed to the device, plus one (P4).
  [[nodiscard]] std::int64_t executed_peak_bytes() const;
  [[nodiscard]] std::int64_t offloaded_bytes() const;
  [[nodiscard]] std::int64_t prefetched_bytes() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace vdnn
