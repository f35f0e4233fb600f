#pragma once

#include <cstdint>
#include <span>

namespace vdnn {

// `count` planes of height x width bytes, one after the other, to be read as their mean.
struct MeanOfPlanes {
  std::span<const std::uint8_t> bytes;
  std::int64_t count = 0;
  std::int64_t height = 0;
  std::int64_t width = 0;
};

struct AffineMap {
  float scale = 1;
  float offset = 0;
};

// Resizes to dst_height x dst_width by bilinear interpolation and maps each value v to
// v * scale + offset. Pixel centres are aligned: dst pixel i lies at (i + 0.5) * src / dst - 0.5, and what
// lies outside takes the value of the edge. No low-pass filter: strong reductions skip pixels. With equal
// sizes every value is that of its source pixel alone.
// O(dst pixels + dst_height * (dst_width + src_width * planes)) time, O(src_width + dst_width) memory.
void resize_bilinear(const MeanOfPlanes& src, const AffineMap& map, std::int64_t dst_height,
                     std::int64_t dst_width, std::span<float> dst);

}  // namespace vdnn
