#pragma once

#include <cstdint>

#include "base/counter_random.h"
#include "device/cuda/elements/map_layout.h"

namespace vdnn::cuda {

// Drops or scales the values of one block of draws. What is dropped depends on a value's row-major position
// alone, whatever the layout; y may be x.
template <class T>
struct Dropout {
  static constexpr std::int64_t kBlock = 4;  // values per block of draws

  const T* x = nullptr;
  T* y = nullptr;
  MapLayout layout;
  float probability = 0;
  CounterRandom random{0, 0, 0};

  [[nodiscard]] std::int64_t blocks() const { return (layout.values() + kBlock - 1) / kBlock; }

  VDNN_HOST_DEVICE void operator()(std::int64_t block) const {
    const auto draws = random.draws(static_cast<std::uint64_t>(block));
    const std::int64_t count = layout.values();
    const T scale = T{1} / (T{1} - static_cast<T>(probability));
    for (int i = 0; i < kBlock; ++i) {
      const std::int64_t index = block * kBlock + i;
      if (index >= count) return;
      const std::int64_t at = layout.offset_of_row_major(index);
      // As CounterRandom::uniform, which would draw the block anew for each value.
      const float uniform = static_cast<float>(draws[static_cast<std::size_t>(i)] >> 8) * 0x1.0p-24F;
      // Multiplying by zero keeps NaN, which a stale input must stay; a dropped infinity is no concern.
      y[at] = (uniform < probability ? T{0} : scale) * x[at];
    }
  }
};

}  // namespace vdnn::cuda
