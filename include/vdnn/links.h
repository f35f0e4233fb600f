#pragma once

#include <cstdint>

#include "vdnn/stream.h"

namespace vdnn {

// What lies below a device: how fast copies are, and what they cost what runs beside them.
struct Links {
  double offload_bytes_per_s = 2.5e9;  // each direction by itself
  double prefetch_bytes_per_s = 1.8e9;
  double offload_slowdown = 1;  // of a kernel while a copy of this direction runs: 1.1 is a tenth longer
  double prefetch_slowdown = 1;
  double duplex_share = 1;  // of its rate that each direction keeps while both copy

  // What the nearest tier holds. What does not fit there goes to the tier behind it, at these rates.
  std::int64_t near_capacity_bytes = INT64_MAX;
  double far_offload_bytes_per_s = 2.5e9;
  double far_prefetch_bytes_per_s = 1.8e9;

  // Of a stream that copies.
  [[nodiscard]] double bytes_per_s(StreamKind stream) const {
    if (stream == StreamKind::far_offload) return far_offload_bytes_per_s;
    if (stream == StreamKind::far_prefetch) return far_prefetch_bytes_per_s;
    return stream == StreamKind::offload ? offload_bytes_per_s : prefetch_bytes_per_s;
  }
};

}  // namespace vdnn
