#include <cmath>

#include "device/reference/kernels.h"

namespace vdnn::reference {
namespace {

// Calls visit(index) for every value of a channel, over batch, height and width.
template <class Visit>
void for_each_of_channel(const Shape& shape, std::int64_t channel, Visit visit) {
  const std::int64_t plane = shape[2] * shape[3];
  for (std::int64_t example = 0; example < shape[0]; ++example) {
    const std::int64_t first = (example * shape[1] + channel) * plane;
    for (std::int64_t i = first; i < first + plane; ++i) visit(i);
  }
}

double values_per_channel(const Shape& shape) {
  return static_cast<double>(shape[0] * shape[2] * shape[3]);
}

}  // namespace

// x, scale, shift -> y, mean, variance (biased: the mean squared deviation)
void batch_norm(const Call& call) {
  const double epsilon = call.attributes<BatchNormAttributes>().epsilon;
  const Shape& shape = call.inputs[0].shape;
  const double* x = call.input(0);
  double* y = call.output(0);
  for (std::int64_t c = 0; c < shape[1]; ++c) {
    double sum = 0;
    for_each_of_channel(shape, c, [&](std::int64_t i) { sum += x[i]; });
    const double mean = sum / values_per_channel(shape);
    double squares = 0;
    for_each_of_channel(shape, c, [&](std::int64_t i) { squares += (x[i] - mean) * (x[i] - mean); });
    const double variance = squares / values_per_channel(shape);
    const double factor = call.input(1)[c] / std::sqrt(variance + epsilon);
    const double shift = call.input(2)[c];
    for_each_of_channel(shape, c, [&](std::int64_t i) { y[i] = (x[i] - mean) * factor + shift; });
    call.output(1)[c] = mean;
    call.output(2)[c] = variance;
  }
}

// mean, variance, running mean, running variance -> running mean, running variance, in place. The
// running variance takes the biased variance as it is: how many values it is of, which the unbiased one
// would need, is not known from the op's tensors.
void batch_norm_statistics(const Call& call) {
  const double momentum = call.attributes<BatchNormAttributes>().momentum;
  for (std::size_t statistic = 0; statistic < 2; ++statistic) {
    const double* batch = call.input(statistic);
    const double* before = call.input(statistic + 2);
    double* after = call.output(statistic);
    for (std::int64_t c = 0; c < call.outputs[statistic].shape[0]; ++c) {
      after[c] = (1 - momentum) * before[c] + momentum * batch[c];
    }
  }
}

// x, mean, variance, scale, dy -> dx, dscale, dshift. With n the normalised x,
// dx = scale / sqrt(variance + epsilon) * (dy - mean of dy - n * mean of (dy * n)).
void batch_norm_backward(const Call& call) {
  const double epsilon = call.attributes<BatchNormAttributes>().epsilon;
  const Shape& shape = call.inputs[0].shape;
  const double* x = call.input(0);
  const double* dy = call.input(4);
  double* dx = call.output(0);
  for (std::int64_t c = 0; c < shape[1]; ++c) {
    const double mean = call.input(1)[c];
    const double inverse_deviation = 1 / std::sqrt(call.input(2)[c] + epsilon);
    double dscale = 0;
    double dshift = 0;
    for_each_of_channel(shape, c, [&](std::int64_t i) {
      dscale += dy[i] * (x[i] - mean) * inverse_deviation;
      dshift += dy[i];
    });
    const double count = values_per_channel(shape);
    const double factor = call.input(3)[c] * inverse_deviation;
    for_each_of_channel(shape, c, [&](std::int64_t i) {
      const double normalised = (x[i] - mean) * inverse_deviation;
      dx[i] = factor * (dy[i] - dshift / count - normalised * dscale / count);
    });
    call.output(1)[c] = dscale;
    call.output(2)[c] = dshift;
  }
}

}  // namespace vdnn::reference
