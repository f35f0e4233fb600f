#include "device/reference/kernels.h"

namespace vdnn::reference {
namespace {

// A convolution is a sum of products y[i] += w[j] * x[k]; its two gradients are sums over the same
// triples. This calls visit(i, j, k), row-major indices, for each of them; padding takes part in none.
template <class Visit>
void for_each_product(const ConvolutionAttributes& a, const Shape& x, const Shape& y, Visit visit) {
  const std::int64_t in_channels = x[1] / a.groups;
  const std::int64_t out_channels = y[1] / a.groups;
  const auto visit_row = [&](std::int64_t y_row, std::int64_t weight_row, std::int64_t x_row) {
    for (std::int64_t kernel_column = 0; kernel_column < a.kernel.width; ++kernel_column) {
      for (std::int64_t column = 0; column < y[3]; ++column) {
        const std::int64_t x_column =
            column * a.stride.width - a.padding.width + kernel_column * a.dilation.width;
        if (x_column < 0 || x_column >= x[3]) continue;
        visit(y_row + column, weight_row + kernel_column, x_row + x_column);
      }
    }
  };
  const auto visit_plane = [&](std::int64_t y_plane, std::int64_t weight_plane, std::int64_t x_plane) {
    for (std::int64_t kernel_row = 0; kernel_row < a.kernel.height; ++kernel_row) {
      for (std::int64_t row = 0; row < y[2]; ++row) {
        const std::int64_t x_row = row * a.stride.height - a.padding.height + kernel_row * a.dilation.height;
        if (x_row < 0 || x_row >= x[2]) continue;
        visit_row((y_plane * y[2] + row) * y[3],
                  (weight_plane * a.kernel.height + kernel_row) * a.kernel.width,
                  (x_plane * x[2] + x_row) * x[3]);
      }
    }
  };
  for (std::int64_t example = 0; example < y[0]; ++example) {
    for (std::int64_t out = 0; out < y[1]; ++out) {
      const std::int64_t first_in = out / out_channels * in_channels;
      for (std::int64_t in = 0; in < in_channels; ++in) {
        visit_plane(example * y[1] + out, out * in_channels + in, example * x[1] + first_in + in);
      }
    }
  }
}

// Calls visit(index, channel) for every value of a batch x channels x height x width tensor.
template <class Visit>
void for_each_value(const Shape& shape, Visit visit) {
  const std::int64_t plane = shape[2] * shape[3];
  for (std::int64_t i = 0; i < shape.elements(); ++i) visit(i, i / plane % shape[1]);
}

}  // namespace

// x, weight[, bias] -> y
void convolution(const Call& call) {
  const double* x = call.input(0);
  const double* weight = call.input(1);
  const double* bias = call.inputs.size() > 2 ? call.input(2) : nullptr;
  double* y = call.output(0);
  for_each_value(call.outputs[0].shape,
                 [&](std::int64_t i, std::int64_t channel) { y[i] = bias != nullptr ? bias[channel] : 0.0; });
  for_each_product(call.attributes<ConvolutionAttributes>(), call.inputs[0].shape, call.outputs[0].shape,
                   [&](std::int64_t i, std::int64_t j, std::int64_t k) { y[i] += weight[j] * x[k]; });
}

// x, dy -> dweight[, dbias]
void convolution_backward_weights(const Call& call) {
  const double* x = call.input(0);
  const double* dy = call.input(1);
  double* dweight = call.output(0);
  fill_zero(call.outputs[0]);
  for_each_product(call.attributes<ConvolutionAttributes>(), call.inputs[0].shape, call.inputs[1].shape,
                   [&](std::int64_t i, std::int64_t j, std::int64_t k) { dweight[j] += dy[i] * x[k]; });
  if (call.outputs.size() < 2) return;
  double* dbias = call.output(1);
  fill_zero(call.outputs[1]);
  for_each_value(call.inputs[1].shape,
                 [&](std::int64_t i, std::int64_t channel) { dbias[channel] += dy[i]; });
}

// weight, dy -> dx
void convolution_backward_data(const Call& call) {
  const double* weight = call.input(0);
  const double* dy = call.input(1);
  double* dx = call.output(0);
  fill_zero(call.outputs[0]);
  for_each_product(call.attributes<ConvolutionAttributes>(), call.outputs[0].shape, call.inputs[1].shape,
                   [&](std::int64_t i, std::int64_t j, std::int64_t k) { dx[k] += weight[j] * dy[i]; });
}

}  // namespace vdnn::reference
