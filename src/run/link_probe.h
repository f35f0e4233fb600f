#pragma once

#include <functional>
#include <string>

#include "vdnn/device.h"
#include "vdnn/plan.h"

namespace vdnn {

struct LinkProbeSizes {
  std::int64_t copy_bytes = std::int64_t{16} << 20;   // of one transfer
  std::int64_t tier_bytes = std::int64_t{256} << 20;  // that transfers go round in
  double phase_seconds = 0.2;                         // of kernels, and of copies in both directions
};

// How fast a device copies to and from a tier, and what that costs its kernels: each direction by itself,
// both at once, and a convolution beside each. Takes about two seconds, 80 MiB of memory and 256 MiB of the
// tier. `executable` is any program; its longest kernel of at most 64 MiB runs beside the copies.
Links measure_links(Executable& executable, Tier& tier, int threads, const LinkProbeSizes& sizes = {});

// The same from the file links.json of `directory`, else measured and kept there; by machine and tier.
Links cached_links(Executable& executable, Tier& tier, int threads, const std::string& directory,
                   const LinkProbeSizes& sizes = {});

}  // namespace vdnn
