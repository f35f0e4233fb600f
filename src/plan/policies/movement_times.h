#pragma once

#include <vector>

#include "plan/byte_profile.h"
#include "plan/policies/residency_problem.h"

namespace vdnn {

// Lets copies in start earlier and memory go later than the absences' ends demand, wherever there is room:
// copies in as late as their deadlines and those behind them on the link allow; memory until the copy out
// should have ended. Each tier has its own link. `needed`, bytes by launch, takes what that uses.
void spread_movements(const ResidencyProblem& problem, const std::vector<bool>& far_buffers,
                      std::int64_t limit_bytes, ByteProfile& needed, std::vector<Movement>& movements);

}  // namespace vdnn
