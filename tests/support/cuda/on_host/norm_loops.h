#pragma once

#include <cstdint>

namespace vdnn::testing {

struct NormShape {
  std::int64_t batch;
  std::int64_t channels;
  std::int64_t plane;
  bool channels_last;

  [[nodiscard]] std::int64_t per_channel() const { return batch * plane; }
  // Where value `i` of a channel's lies.
  [[nodiscard]] std::int64_t index(std::int64_t channel, std::int64_t i) const {
    return channels_last ? i * channels + channel : (i / plane * channels + channel) * plane + i % plane;
  }
};

// A batch norm over each channel, in double precision.
struct NormForward {
  NormShape shape;
  double epsilon;
  const float* x;
  const float* scale;
  const float* shift;
  float* y;
  float* mean;
  float* inverse_deviation;

  void run() const;
};

struct NormBackward {
  NormShape shape;
  const float* x;
  const float* dy;
  const float* scale;
  const float* mean;
  const float* inverse_deviation;
  float* dx;
  float* dscale;
  float* dshift;

  void run() const;
};

}  // namespace vdnn::testing
