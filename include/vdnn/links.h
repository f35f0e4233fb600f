#pragma once

namespace vdnn {

// How fast copies are, and what they cost what runs beside them.
struct Links {
  double offload_bytes_per_s = 2.5e9;  // each direction by itself
  double prefetch_bytes_per_s = 1.8e9;
  double offload_slowdown = 1;  // of a kernel while a copy of this direction runs: 1.1 is a tenth longer
  double prefetch_slowdown = 1;
  double duplex_share = 1;  // of its rate that each direction keeps while both copy
};

}  // namespace vdnn
