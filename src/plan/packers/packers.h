#pragma once

#include "plan/packer.h"

namespace vdnn {

extern const Packer kLargestFirst;
extern const Packer kPromoteHighest;
extern const Packer kBottomUpSearch;

}  // namespace vdnn
