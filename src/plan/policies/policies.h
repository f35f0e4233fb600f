#pragma once

#include "plan/policy.h"

namespace vdnn {

extern const Policy kBaseline;
extern const Policy kOracle;
extern const Policy kVdnnAll;
extern const Policy kVdnnConv;
extern const Policy kVdnnDyn;
extern const Policy kAuto;

}  // namespace vdnn
