#pragma once

#include <cstdint>

#include "device/cuda/elements/map_layout.h"

namespace vdnn::cuda {

// Copies one value of a range of channels between two batches of the same images, whatever their layouts:
// what concat, split, reorders and taking over the staged batch consist of. Values are numbered as they lie
// in `to`.
template <class T>
struct ChannelCopy {
  const T* from = nullptr;
  MapLayout from_layout;
  std::int64_t from_channel = 0;  // the first
  T* to = nullptr;
  MapLayout to_layout;
  std::int64_t to_channel = 0;
  std::int64_t channels = 0;

  [[nodiscard]] std::int64_t values() const { return to_layout.images * channels * to_layout.pixels(); }
  // True when both are the same bytes.
  [[nodiscard]] bool is_plain() const {
    const bool one_order = to_layout.channels == 1 || to_layout.pixels() == 1;
    return channels == from_layout.channels && channels == to_layout.channels &&
           (one_order || from_layout.channels_last == to_layout.channels_last);
  }

  VDNN_HOST_DEVICE void operator()(std::int64_t i) const {
    MapLayout range = to_layout;
    range.channels = channels;
    const Place place = range.place(i);
    to[to_layout.offset({place.image, to_channel + place.channel, place.pixel})] =
        from[from_layout.offset({place.image, from_channel + place.channel, place.pixel})];
  }
};

}  // namespace vdnn::cuda
