#include "device/reference/kernels.h"

namespace vdnn::reference {

// x -> y, which may be x. NaN stays NaN, so that poisoned memory shows.
void relu(const Call& call) {
  const double* x = call.input(0);
  double* y = call.output(0);
  const std::int64_t count = call.outputs[0].shape.elements();
  for (std::int64_t i = 0; i < count; ++i) y[i] = x[i] <= 0 ? 0.0 : x[i];
}

// dy, y -> dx, which may be dy.
void relu_backward(const Call& call) {
  const double* dy = call.input(0);
  const double* y = call.input(1);
  double* dx = call.output(0);
  const std::int64_t count = call.outputs[0].shape.elements();
  for (std::int64_t i = 0; i < count; ++i) dx[i] = y[i] <= 0 ? 0.0 : dy[i];
}

}  // namespace vdnn::reference
