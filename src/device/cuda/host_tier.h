#pragma once

#include <memory>

#include "device/cuda/memory.h"
#include "vdnn/tier.h"

namespace vdnn::cuda {

// Host memory below a GPU: one pool of the size that is reserved, pinned where that can be had, and then
// reached by the device itself. `runtime` must outlive it.
std::unique_ptr<Tier> make_host_tier(Runtime& runtime);

}  // namespace vdnn::cuda
