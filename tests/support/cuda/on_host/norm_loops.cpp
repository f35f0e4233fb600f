#include "support/cuda/on_host/norm_loops.h"

#include <cmath>

namespace vdnn::testing {

void NormForward::run() const {
  const std::int64_t count = shape.per_channel();
  for (std::int64_t c = 0; c < shape.channels; ++c) {
    double sum = 0;
    for (std::int64_t i = 0; i < count; ++i) sum += x[shape.index(c, i)];
    const double average = sum / static_cast<double>(count);
    double squares = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      const double distance = x[shape.index(c, i)] - average;
      squares += distance * distance;
    }
    const double inverse = 1 / std::sqrt(squares / static_cast<double>(count) + epsilon);
    mean[c] = static_cast<float>(average);
    inverse_deviation[c] = static_cast<float>(inverse);
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t at = shape.index(c, i);
      y[at] = static_cast<float>(scale[c] * (x[at] - average) * inverse + shift[c]);
    }
  }
}

void NormBackward::run() const {
  const std::int64_t count = shape.per_channel();
  for (std::int64_t c = 0; c < shape.channels; ++c) {
    const double inverse = inverse_deviation[c];
    const auto normed = [&](std::int64_t at) { return (x[at] - static_cast<double>(mean[c])) * inverse; };
    double sum = 0;
    double product = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t at = shape.index(c, i);
      sum += dy[at];
      product += dy[at] * normed(at);
    }
    dshift[c] = static_cast<float>(sum);
    dscale[c] = static_cast<float>(product);
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t at = shape.index(c, i);
      dx[at] = static_cast<float>(scale[c] * inverse *
                                  (dy[at] - (sum + normed(at) * product) / static_cast<double>(count)));
    }
  }
}

}  // namespace vdnn::testing
