#pragma once

#include "device/cpu/onednn.h"

namespace vdnn::cpu {

// How a tensor lies in memory: row-major, or, for images of more than a few channels, in blocks of
// channels. A function of the shape alone, so that producers and consumers agree without asking.
struct Layout {
  Shape shape;
  std::int64_t block = 0;  // 0: row-major

  [[nodiscard]] std::int64_t padded_channels() const {
    return block == 0 ? shape[1] : (shape[1] + block - 1) / block * block;
  }
  [[nodiscard]] std::int64_t values() const {
    return block == 0 ? shape.elements() : shape[0] * padded_channels() * shape[2] * shape[3];
  }
  // Offset of channel c of image n, and the distance from one pixel to the next.
  [[nodiscard]] std::int64_t channel_offset(std::int64_t n, std::int64_t c) const {
    const std::int64_t pixels = shape[2] * shape[3];
    if (block == 0) return (n * shape[1] + c) * pixels;
    return (n * padded_channels() + c / block * block) * pixels + c % block;
  }
  [[nodiscard]] std::int64_t pixel_stride() const { return block == 0 ? 1 : block; }
  [[nodiscard]] Desc desc() const { return block == 0 ? plain_desc(shape) : blocked_desc(shape, block); }
  // True when the bytes are those of the row-major layout.
  [[nodiscard]] bool is_plain() const {
    return block == 0 || (shape[2] * shape[3] == 1 && shape[1] % block == 0);
  }
  friend bool operator==(const Layout&, const Layout&) = default;
};

// Few channels would be mostly padding in a block.
inline constexpr std::int64_t kMostPlainChannels = 4;

inline Layout natural_layout(const Shape& shape, std::int64_t block) {
  return {shape, shape.rank() == 4 && shape[1] > kMostPlainChannels ? block : 0};
}

}  // namespace vdnn::cpu
