#include <cmath>

#include "device/reference/kernels.h"

namespace vdnn::reference {
namespace {

// The part of a pooling window that lies on the image; padding belongs to no window.
struct Window {
  std::int64_t plane = 0;  // index of its first value
  std::int64_t top = 0;    // of the whole window; negative in the padding
  std::int64_t left = 0;
};

class Windows {
 public:
  Windows(const PoolingAttributes& attributes, const Shape& x, const Shape& y)
      : a_(attributes), x_(x), y_(y) {
    if (a_.global) {
      a_.kernel = {x[2], x[3]};
      a_.stride = {1, 1};
      a_.padding = {0, 0};
    }
  }

  // visit(index of the output, window)
  template <class Visit>
  void for_each(Visit visit) const {
    std::int64_t i = 0;
    for (std::int64_t plane = 0; plane < y_[0] * y_[1]; ++plane) {
      for (std::int64_t row = 0; row < y_[2]; ++row) {
        for (std::int64_t column = 0; column < y_[3]; ++column) {
          visit(i++, Window{plane * x_[2] * x_[3], row * a_.stride.height - a_.padding.height,
                            column * a_.stride.width - a_.padding.width});
        }
      }
    }
  }

  // visit(index of the input, position within the whole window)
  template <class Visit>
  void for_each_pixel(const Window& window, Visit visit) const {
    for (std::int64_t row = 0; row < a_.kernel.height; ++row) {
      for (std::int64_t column = 0; column < a_.kernel.width; ++column) {
        const std::int64_t x_row = window.top + row;
        const std::int64_t x_column = window.left + column;
        if (x_row < 0 || x_row >= x_[2] || x_column < 0 || x_column >= x_[3]) continue;
        visit(window.plane + x_row * x_[3] + x_column, row * a_.kernel.width + column);
      }
    }
  }

  [[nodiscard]] std::int64_t pixels(const Window& window) const {
    std::int64_t count = 0;
    for_each_pixel(window, [&](std::int64_t, std::int64_t) { ++count; });
    return count;
  }

 private:
  PoolingAttributes a_;
  Shape x_;
  Shape y_;
};

}  // namespace

// x -> y, indices; of equal values the first wins, before all what is not a number.
void max_pool(const Call& call) {
  const Windows windows(call.attributes<PoolingAttributes>(), call.inputs[0].shape, call.outputs[0].shape);
  const double* x = call.input(0);
  double* y = call.output(0);
  double* indices = call.output(1);
  windows.for_each([&](std::int64_t i, const Window& window) {
    indices[i] = -1;
    windows.for_each_pixel(window, [&](std::int64_t k, std::int64_t position) {
      if (indices[i] >= 0 && (x[k] <= y[i] || std::isnan(y[i]))) return;
      y[i] = x[k];
      indices[i] = static_cast<double>(position);
    });
  });
}

// dy, indices -> dx
void max_pool_backward(const Call& call) {
  const Windows windows(call.attributes<PoolingAttributes>(), call.outputs[0].shape, call.inputs[0].shape);
  const double* dy = call.input(0);
  const double* indices = call.input(1);
  double* dx = call.output(0);
  fill_zero(call.outputs[0]);
  windows.for_each([&](std::int64_t i, const Window& window) {
    windows.for_each_pixel(window, [&](std::int64_t k, std::int64_t position) {
      if (static_cast<double>(position) == indices[i]) dx[k] += dy[i];
    });
  });
}

// x -> y, the mean of the pixels in the window, without padding.
void average_pool(const Call& call) {
  const Windows windows(call.attributes<PoolingAttributes>(), call.inputs[0].shape, call.outputs[0].shape);
  const double* x = call.input(0);
  double* y = call.output(0);
  windows.for_each([&](std::int64_t i, const Window& window) {
    double sum = 0;
    windows.for_each_pixel(window, [&](std::int64_t k, std::int64_t) { sum += x[k]; });
    y[i] = sum / static_cast<double>(windows.pixels(window));
  });
}

// dy -> dx
void average_pool_backward(const Call& call) {
  const Windows windows(call.attributes<PoolingAttributes>(), call.outputs[0].shape, call.inputs[0].shape);
  const double* dy = call.input(0);
  double* dx = call.output(0);
  fill_zero(call.outputs[0]);
  windows.for_each([&](std::int64_t i, const Window& window) {
    const double share = dy[i] / static_cast<double>(windows.pixels(window));
    windows.for_each_pixel(window, [&](std::int64_t k, std::int64_t) { dx[k] += share; });
  });
}

}  // namespace vdnn::reference
