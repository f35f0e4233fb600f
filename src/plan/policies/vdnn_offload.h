#pragma once

#include "plan/policy.h"

namespace vdnn {

// Layers whose inputs leave: every convolution, or every feature-extraction layer that is not in place (then
// its saved state too).
enum class OffloadedLayers { convolution, feature_extraction };

// The movements of the paper's static policies (vDNN, MICRO 2016, sections 3.2 and 3.3). Copies start and are
// synchronised at layer ends, and the prefetch window reaches back to the next convolution.
Decisions offload_inputs(const PlanProblem& problem, OffloadedLayers layers);

}  // namespace vdnn
