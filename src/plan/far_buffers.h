#pragma once

#include <functional>
#include <vector>

#include "plan/policy.h"

namespace vdnn {

// Which buffers have their place in the far tier, by buffer, where the nearest holds less than all that
// moves: those that are copied least often in a step, and of these those that are away longest, until the
// others fit. `absence` says how long a movement's buffer is away, in any unit.
std::vector<bool> choose_far_buffers(const Program& program, const std::vector<Movement>& movements,
                                     std::int64_t near_capacity_bytes,
                                     const std::function<double(const Movement&)>& absence);

}  // namespace vdnn
