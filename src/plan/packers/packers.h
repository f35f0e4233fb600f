#pragma once

#include "plan/packer.h"

namespace vdnn {

extern const Packer kLargestFirst;
extern const Packer kLongestFirst;
extern const Packer kAreaFirst;
extern const Packer kPromoteHighest;

}  // namespace vdnn
