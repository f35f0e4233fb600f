#pragma once

#include <string>
#include <vector>

#include "vdnn/plan.h"

namespace vdnn {

// The most violations that a plan is told of.
inline constexpr std::size_t kMostViolations = 20;

// A placement as violations call it.
std::string placement_name(const Program& program, const Placement& placement);

// Everything that indices in a file can get wrong: where this is empty, the other checks may index freely.
std::vector<std::string> structure_violations(const Program& program, const Plan& plan);

}  // namespace vdnn
