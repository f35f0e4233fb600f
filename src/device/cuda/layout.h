#pragma once

#include <cstdint>

#include "vdnn/shape.h"

namespace vdnn::cuda {

// How the values of a tensor lie in device memory, without padding: row-major, or, for images and filters,
// with the channels innermost (NHWC, KRSC).
struct Layout {
  Shape shape;
  bool channels_last = false;

  [[nodiscard]] std::int64_t values() const { return shape.elements(); }
  // Distances in values from one batch, channel, row and column to the next.
  [[nodiscard]] std::int64_t batch_stride() const { return shape.elements_per_example(); }
  [[nodiscard]] std::int64_t channel_stride() const { return channels_last ? 1 : shape[2] * shape[3]; }
  [[nodiscard]] std::int64_t row_stride() const { return shape[3] * column_stride(); }
  [[nodiscard]] std::int64_t column_stride() const { return channels_last ? shape[1] : 1; }
  // True when the values lie as in the row-major layout.
  [[nodiscard]] bool is_row_major() const {
    return !channels_last || shape[1] == 1 || shape[2] * shape[3] == 1;
  }
  // Where the value lies that is number `index` in row-major order.
  [[nodiscard]] std::int64_t offset(std::int64_t index) const {
    if (is_row_major()) return index;
    const std::int64_t pixels = shape[2] * shape[3];
    const std::int64_t pixel = index % pixels;
    const std::int64_t plane = index / pixels;
    return (plane / shape[1] * pixels + pixel) * shape[1] + plane % shape[1];
  }
  friend bool operator==(const Layout&, const Layout&) = default;
};

}  // namespace vdnn::cuda
