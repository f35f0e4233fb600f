#include <cmath>
#include <vector>

#include "device/reference/kernels.h"

namespace vdnn::reference {
namespace {

// The channels of one pixel, gathered: value c lies at first + c * step.
struct Pixel {
  std::int64_t first = 0;
  std::int64_t step = 0;
  std::int64_t channels = 0;

  [[nodiscard]] std::int64_t index(std::int64_t channel) const { return first + channel * step; }
};

template <class Visit>
void for_each_pixel(const Shape& shape, Visit visit) {
  const std::int64_t plane = shape[2] * shape[3];
  for (std::int64_t example = 0; example < shape[0]; ++example) {
    for (std::int64_t i = 0; i < plane; ++i) visit(Pixel{example * shape[1] * plane + i, plane, shape[1]});
  }
}

// Sum of value(channel) over the window around `centre`. The window is symmetric, so the channels that
// a channel reads are also those that read it.
template <class Value>
double sum_around(std::int64_t centre, std::int64_t channels, std::int64_t size, Value value) {
  double sum = 0;
  const std::int64_t last = std::min(channels - 1, centre + size / 2);
  for (std::int64_t c = std::max<std::int64_t>(0, centre - size / 2); c <= last; ++c) sum += value(c);
  return sum;
}

// k + alpha / size * sum of squares, by channel.
std::vector<double> scales(const LrnAttributes& a, const double* x, const Pixel& pixel) {
  std::vector<double> result;
  for (std::int64_t c = 0; c < pixel.channels; ++c) {
    const double squares = sum_around(c, pixel.channels, a.size, [&](std::int64_t other) {
      return x[pixel.index(other)] * x[pixel.index(other)];
    });
    result.push_back(a.k + a.alpha / static_cast<double>(a.size) * squares);
  }
  return result;
}

}  // namespace

// x -> y
void lrn(const Call& call) {
  const auto& a = call.attributes<LrnAttributes>();
  const double* x = call.input(0);
  double* y = call.output(0);
  for_each_pixel(call.inputs[0].shape, [&](const Pixel& pixel) {
    const std::vector<double> scale = scales(a, x, pixel);
    for (std::int64_t c = 0; c < pixel.channels; ++c) {
      y[pixel.index(c)] = x[pixel.index(c)] * std::pow(scale[static_cast<std::size_t>(c)], -a.beta);
    }
  });
}

// dy, x -> dx. With s the scale of a channel,
// dx = dy * s^-beta - 2 * alpha * beta / size * x * sum around of dy * x * s^(-beta - 1).
void lrn_backward(const Call& call) {
  const auto& a = call.attributes<LrnAttributes>();
  const double* dy = call.input(0);
  const double* x = call.input(1);
  double* dx = call.output(0);
  const double factor = 2 * a.alpha * a.beta / static_cast<double>(a.size);
  for_each_pixel(call.inputs[1].shape, [&](const Pixel& pixel) {
    const std::vector<double> scale = scales(a, x, pixel);
    for (std::int64_t c = 0; c < pixel.channels; ++c) {
      const double through_scales = sum_around(c, pixel.channels, a.size, [&](std::int64_t other) {
        const std::int64_t i = pixel.index(other);
        return dy[i] * x[i] * std::pow(scale[static_cast<std::size_t>(other)], -a.beta - 1);
      });
      const std::int64_t i = pixel.index(c);
      dx[i] = dy[i] * std::pow(scale[static_cast<std::size_t>(c)], -a.beta) - factor * x[i] * through_scales;
    }
  });
}

}  // namespace vdnn::reference
