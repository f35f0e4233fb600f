#pragma once

#include <cmath>
#include <cstdint>

#include "device/cuda/elements/map_layout.h"
#include "vdnn/attributes.h"

namespace vdnn::cuda {

// Normalisation across channels. Scales are computed again from x in both directions: keeping them would cost
// as much memory as the map.
template <class T>
struct LrnScales {
  MapLayout layout;
  std::int64_t half = 0;  // channels of the window on each side
  T factor = 0;           // on the sum of squares
  T k = 0;
  T beta = 0;

  // The window [begin, end) around a channel; the channels that it reads are also those that read it.
  [[nodiscard]] VDNN_HOST_DEVICE std::int64_t begin(std::int64_t channel) const {
    return channel < half ? 0 : channel - half;
  }
  [[nodiscard]] VDNN_HOST_DEVICE std::int64_t end(std::int64_t channel) const {
    const std::int64_t end = channel + half + 1;
    return end > layout.channels ? layout.channels : end;
  }
  // Of a channel of the pixel whose first channel `pixel` points to.
  [[nodiscard]] VDNN_HOST_DEVICE T scale(const T* pixel, std::int64_t channel) const {
    const std::int64_t stride = layout.channel_stride();
    T squares{};
    for (std::int64_t c = begin(channel); c < end(channel); ++c)
      squares += pixel[c * stride] * pixel[c * stride];
    return k + factor * squares;
  }
  // scale to the power of -beta; the usual beta by roots, which are faster.
  [[nodiscard]] VDNN_HOST_DEVICE T power(T scale) const {
    if (beta == static_cast<T>(0.75)) return T{1} / std::sqrt(scale * std::sqrt(scale));
    return std::pow(scale, -beta);
  }
};

template <class T>
LrnScales<T> make_lrn_scales(const LrnAttributes& a, const Layout& layout) {
  return {.layout = map_layout(layout),
          .half = a.size / 2,
          .factor = static_cast<T>(a.alpha / static_cast<double>(a.size)),
          .k = static_cast<T>(a.k),
          .beta = static_cast<T>(a.beta)};
}

// One value of y.
template <class T>
struct Lrn {
  const T* x = nullptr;
  T* y = nullptr;
  LrnScales<T> scales;

  VDNN_HOST_DEVICE void operator()(std::int64_t i) const {
    const Place place = scales.layout.place(i);
    const T* pixel = x + scales.layout.offset({place.image, 0, place.pixel});
    y[i] = x[i] * scales.power(scales.scale(pixel, place.channel));
  }
};

// One value of dx. With s the scale of a channel,
// dx = dy * s^-beta - 2 * alpha * beta / size * x * sum around of dy * x * s^(-beta - 1).
template <class T>
struct LrnBackward {
  const T* dy = nullptr;
  const T* x = nullptr;
  T* dx = nullptr;
  LrnScales<T> scales;

  VDNN_HOST_DEVICE void operator()(std::int64_t i) const {
    const Place place = scales.layout.place(i);
    const std::int64_t first = scales.layout.offset({place.image, 0, place.pixel});
    T through_scales{};
    T own_power{};
    for (std::int64_t c = scales.begin(place.channel); c < scales.end(place.channel); ++c) {
      const std::int64_t at = first + c * scales.layout.channel_stride();
      const T scale = scales.scale(x + first, c);
      const T power = scales.power(scale);
      if (c == place.channel) own_power = power;
      through_scales += dy[at] * x[at] * power / scale;
    }
    dx[i] = dy[i] * own_power - 2 * scales.factor * scales.beta * x[i] * through_scales;
  }
};

}  // namespace vdnn::cuda
