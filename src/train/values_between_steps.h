#pragma once

#include <optional>
#include <span>

#include "device/host/arena.h"
#include "vdnn/executor.h"
#include "vdnn/tier.h"

namespace vdnn {

// Reads and writes what persists, between steps, wherever the plan has it then: in the arena, or in the tier
// by way of host memory for one buffer at a time (of at most 64 MiB: larger weights are kept in slices). All
// must outlive it.
class ValuesBetweenSteps {
 public:
  ValuesBetweenSteps(DeviceContext& context, const Executor& executor, const Program& program, Tier* tier)
      : context_(context), executor_(executor), program_(program), tier_(tier) {}

  void write(BufferId buffer, std::int64_t first, std::span<const float> values);
  void read(BufferId buffer, std::int64_t first, std::span<float> values);

  // Puts back what was written, and gives back the memory. To be called before a step, and after reading.
  void finish();

 private:
  void stage(BufferId buffer, std::int64_t tier_offset_bytes, bool read);
  [[nodiscard]] std::span<std::byte> staged_bytes() const;

  DeviceContext& context_;
  const Executor& executor_;
  const Program& program_;
  Tier* tier_;
  BufferId staged_;
  std::int64_t tier_offset_bytes_ = 0;
  bool written_ = false;
  std::optional<HostArena> memory_;
};

}  // namespace vdnn
