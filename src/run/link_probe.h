#pragma once

#include <functional>
#include <string>

#include "vdnn/device.h"
#include "vdnn/plan.h"

namespace vdnn {

// How fast a device copies to and from a tier, and what that costs its kernels: each direction by itself,
// both at once, and a convolution beside each. Takes about two seconds, 80 MiB of memory and 256 MiB of the
// tier. `executable` is any program; its longest kernel of at most 64 MiB runs beside the copies.
Links measure_links(Executable& executable, Tier& tier, int threads);

// The same from the file links.json of `directory`, else measured and kept there; by machine and tier.
Links cached_links(Executable& executable, Tier& tier, int threads, const std::string& directory);

}  // namespace vdnn
