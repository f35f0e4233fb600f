#pragma once

#include "plan/policy.h"

namespace vdnn {

// The paper's two static policies (vDNN, MICRO 2016, sections 3.2 and 3.3), which differ only in the
// layers whose input is offloaded. Copies start and are synchronised at layer ends, and the prefetch
// window reaches back to the next convolution.
Decisions offload_inputs_of(const Program& program, const Uses& uses, bool (*offloads)(const Layer& layer),
                            bool with_saved_state);

}  // namespace vdnn
