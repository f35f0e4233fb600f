#pragma once

#include <optional>
#include <span>

#include "device/host/arena.h"
#include "vdnn/executor.h"
#include "vdnn/tier.h"

namespace vdnn {

// Reads and writes what persists, between steps, wherever the plan has it then: in the arena, or in a tier
// by way of host memory for one buffer at a time (of at most 64 MiB: larger weights are kept in slices). All
// must outlive it.
class ValuesBetweenSteps {
 public:
  ValuesBetweenSteps(DeviceContext& context, const Executor& executor, const Program& program,
                     const Tiers& tiers)
      : context_(context), executor_(executor), program_(program), tiers_(tiers) {}

  void write(BufferId buffer, std::int64_t first, std::span<const float> values);
  void read(BufferId buffer, std::int64_t first, std::span<float> values);

  // Puts back what was written, and gives back the memory. To be called before a step, and after reading.
  void finish();

 private:
  void stage(BufferId buffer, const Executor::Place& place, bool read);
  [[nodiscard]] std::span<std::byte> staged_bytes() const;

  DeviceContext& context_;
  const Executor& executor_;
  const Program& program_;
  Tiers tiers_;
  BufferId staged_;
  Executor::Place place_;  // of what is staged
  bool written_ = false;
  std::optional<HostArena> memory_;
};

}  // namespace vdnn
