#pragma once

#include <memory>

#include "vdnn/tier.h"

namespace vdnn {

// Pageable host memory; the granule is 64 bytes. reserve() again grows the tier and keeps what it
// holds; fewer bytes than before change nothing.
std::unique_ptr<Tier> make_memory_tier();

}  // namespace vdnn
