#pragma once

#include <string>
#include <vector>

#include "vdnn/plan.h"

namespace vdnn {

// Rules that bind a plan by what it says of itself: its policy (P5) and its peak (P6). The plan's structure
// is sound.
std::vector<std::string> verify_claims(const Program& program, const Plan& plan);

}  // namespace vdnn
