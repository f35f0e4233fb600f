#pragma once

#include <string>
#include <vector>

#include "vdnn/plan.h"

namespace vdnn {

// What is wrong with addresses, for verify_plan: overlaps (P1), the budget (P3), the stated peak (P4) and
// alignment (P9). The plan's structure has been checked.
std::vector<std::string> placement_violations(const Program& program, const Plan& plan);

}  // namespace vdnn
