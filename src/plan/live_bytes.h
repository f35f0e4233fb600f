#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "vdnn/plan.h"

namespace vdnn {

// Bytes of the placements that are live at each step.
std::vector<std::int64_t> live_bytes_by_step(const std::vector<Placement>& placements,
                                             std::size_t step_count);

// The launch at which the most bytes are live, the first of equals.
std::size_t peak_launch(const Plan& plan);

}  // namespace vdnn
