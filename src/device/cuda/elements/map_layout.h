#pragma once

#include <cstdint>

#include "device/cuda/elements/host_device.h"
#include "device/cuda/layout.h"

namespace vdnn::cuda {

// One value of a batch of images; pixels are counted row by row.
struct Place {
  std::int64_t image = 0;
  std::int64_t channel = 0;
  std::int64_t pixel = 0;
};

// A Layout as kernels take it: plain numbers, which a launch can pass. Tensors that are no images count as
// images of one pixel.
struct MapLayout {
  std::int64_t images = 1;
  std::int64_t channels = 1;
  std::int64_t height = 1;
  std::int64_t width = 1;
  bool channels_last = false;

  [[nodiscard]] VDNN_HOST_DEVICE std::int64_t pixels() const { return height * width; }
  [[nodiscard]] VDNN_HOST_DEVICE std::int64_t values() const { return images * channels * pixels(); }
  // Distances in values from one channel and one pixel to the next.
  [[nodiscard]] VDNN_HOST_DEVICE std::int64_t channel_stride() const { return channels_last ? 1 : pixels(); }
  [[nodiscard]] VDNN_HOST_DEVICE std::int64_t pixel_stride() const { return channels_last ? channels : 1; }

  [[nodiscard]] VDNN_HOST_DEVICE std::int64_t offset(const Place& place) const {
    return place.image * channels * pixels() + place.channel * channel_stride() +
           place.pixel * pixel_stride();
  }
  // The value that lies at an offset.
  [[nodiscard]] VDNN_HOST_DEVICE Place place(std::int64_t offset) const {
    const std::int64_t inner = channels_last ? channels : pixels();
    const std::int64_t outer = channels_last ? pixels() : channels;
    const std::int64_t line = offset / inner;
    const std::int64_t within = offset - line * inner;
    const std::int64_t image = line / outer;
    const std::int64_t number = line - image * outer;
    return channels_last ? Place{image, within, number} : Place{image, number, within};
  }
  // Where the value lies that is number `index` in row-major order.
  [[nodiscard]] VDNN_HOST_DEVICE std::int64_t offset_of_row_major(std::int64_t index) const {
    if (!channels_last) return index;
    return offset(MapLayout{images, channels, height, width}.place(index));
  }
};

inline MapLayout map_layout(const Layout& layout) {
  const Shape& shape = layout.shape;
  if (shape.rank() != 4) return {.images = shape[0], .channels = shape.elements_per_example()};
  return {.images = shape[0],
          .channels = shape[1],
          .height = shape[2],
          .width = shape[3],
          .channels_last = layout.channels_last};
}

}  // namespace vdnn::cuda
