#include "device/cpu/ops/channel_copy.h"

#include <cstring>

namespace vdnn::cpu {

void copy_channels(const float* from, const Layout& from_layout, std::int64_t from_channel, float* to,
                   const Layout& to_layout, std::int64_t to_channel, std::int64_t count) {
  const std::int64_t pixels = from_layout.shape[2] * from_layout.shape[3];
  const std::int64_t block = from_layout.block;
  const bool same = block == to_layout.block;
  const std::int64_t group = same && block == 0                                             ? count
                             : same && from_channel % block == 0 && to_channel % block == 0 ? block
                                                                                            : 1;
  const std::int64_t groups = (count + group - 1) / group;
  const std::int64_t images = from_layout.shape[0];
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < images * groups; ++i) {
    const std::int64_t n = i / groups;
    const std::int64_t c = i % groups * group;
    const float* source = from + from_layout.channel_offset(n, from_channel + c);
    float* target = to + to_layout.channel_offset(n, to_channel + c);
    if (group > 1 || block == 0) {
      if (same) {
        // A last block that is not full is copied whole: what lies behind is padding on both sides, or
        // is written by the next copy.
        std::memcpy(target, source, static_cast<std::size_t>(group * pixels) * sizeof(float));
        continue;
      }
    }
    for (std::int64_t p = 0; p < pixels; ++p) {
      target[p * to_layout.pixel_stride()] = source[p * from_layout.pixel_stride()];
    }
  }
}

void clear_padding(float* data, const Layout& layout) {
  if (layout.block == 0) return;
  const std::int64_t pixels = layout.shape[2] * layout.shape[3];
  for (std::int64_t n = 0; n < layout.shape[0]; ++n) {
    for (std::int64_t c = layout.shape[1]; c < layout.padded_channels(); ++c) {
      float* channel = data + layout.channel_offset(n, c);
      for (std::int64_t p = 0; p < pixels; ++p) channel[p * layout.block] = 0;
    }
  }
}

}  // namespace vdnn::cpu
