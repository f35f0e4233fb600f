#pragma once

#include <cmath>
#include <cstdint>

#include "device/cuda/elements/map_layout.h"
#include "vdnn/attributes.h"

namespace vdnn::cuda {

// Windows along one axis of an image.
struct WindowAxis {
  std::int64_t inputs = 1;
  std::int64_t outputs = 1;  // windows
  std::int64_t kernel = 1;
  std::int64_t stride = 1;
  std::int64_t padding = 0;

  // Where a window begins; negative in the padding.
  [[nodiscard]] VDNN_HOST_DEVICE std::int64_t origin(std::int64_t window) const {
    return window * stride - padding;
  }
  // The part [begin, end) of a window that lies on the image.
  [[nodiscard]] VDNN_HOST_DEVICE std::int64_t begin(std::int64_t window) const {
    return origin(window) < 0 ? 0 : origin(window);
  }
  [[nodiscard]] VDNN_HOST_DEVICE std::int64_t end(std::int64_t window) const {
    const std::int64_t end = origin(window) + kernel;
    return end > inputs ? inputs : end;
  }
  // The windows [first, last) that contain an input.
  [[nodiscard]] VDNN_HOST_DEVICE std::int64_t first_window(std::int64_t input) const {
    const std::int64_t reach = input + padding;
    return reach < kernel ? 0 : (reach - kernel) / stride + 1;
  }
  [[nodiscard]] VDNN_HOST_DEVICE std::int64_t last_window(std::int64_t input) const {
    const std::int64_t last = (input + padding) / stride + 1;
    return last > outputs ? outputs : last;
  }
};

struct Windows {
  MapLayout x;
  MapLayout y;
  WindowAxis rows;
  WindowAxis columns;

  // Positions within a window.
  [[nodiscard]] std::int64_t positions() const { return rows.kernel * columns.kernel; }
  [[nodiscard]] VDNN_HOST_DEVICE std::int64_t position(std::int64_t row, std::int64_t window_row,
                                                       std::int64_t column,
                                                       std::int64_t window_column) const {
    return (row - rows.origin(window_row)) * columns.kernel + column - columns.origin(window_column);
  }
  // Pixels of a window without padding.
  [[nodiscard]] VDNN_HOST_DEVICE std::int64_t pixels(std::int64_t window_row,
                                                     std::int64_t window_column) const {
    return (rows.end(window_row) - rows.begin(window_row)) *
           (columns.end(window_column) - columns.begin(window_column));
  }
};

inline Windows make_windows(const PoolingAttributes& a, const Layout& x, const Layout& y) {
  const MapLayout in = map_layout(x);
  const MapLayout out = map_layout(y);
  if (a.global) return {in, out, {in.height, 1, in.height, 1, 0}, {in.width, 1, in.width, 1, 0}};
  return {in,
          out,
          {in.height, out.height, a.kernel.height, a.stride.height, a.padding.height},
          {in.width, out.width, a.kernel.width, a.stride.width, a.padding.width}};
}

// One value of y, and the position within its window where it was: of equal values the first. What is not a
// number is larger than any.
template <class T, class Position = std::uint8_t>
struct MaxPool {
  const T* x = nullptr;
  T* y = nullptr;
  Position* positions = nullptr;  // as y lies
  Windows windows;

  VDNN_HOST_DEVICE void operator()(std::int64_t i) const {
    const Place place = windows.y.place(i);
    const std::int64_t window_row = place.pixel / windows.columns.outputs;
    const std::int64_t window_column = place.pixel % windows.columns.outputs;
    const T* plane = x + windows.x.offset({place.image, place.channel, 0});
    T largest{};
    std::int64_t winner = -1;
    for (std::int64_t r = windows.rows.begin(window_row); r < windows.rows.end(window_row); ++r) {
      for (std::int64_t c = windows.columns.begin(window_column); c < windows.columns.end(window_column);
           ++c) {
        const T value = plane[(r * windows.columns.inputs + c) * windows.x.pixel_stride()];
        if (winner >= 0 && (value <= largest || std::isnan(largest))) continue;
        largest = value;
        winner = windows.position(r, window_row, c, window_column);
      }
    }
    y[i] = largest;
    positions[i] = static_cast<Position>(winner);
  }
};

// One value of dx, gathered from the windows that contain it in row-major order: the same bits in every run.
template <class T, class Position = std::uint8_t>
struct MaxPoolBackward {
  const T* dy = nullptr;
  const Position* positions = nullptr;
  T* dx = nullptr;
  Windows windows;

  VDNN_HOST_DEVICE void operator()(std::int64_t i) const {
    const Place place = windows.x.place(i);
    const std::int64_t row = place.pixel / windows.columns.inputs;
    const std::int64_t column = place.pixel % windows.columns.inputs;
    const std::int64_t plane = windows.y.offset({place.image, place.channel, 0});
    const std::int64_t last_row = windows.rows.last_window(row);
    const std::int64_t last_column = windows.columns.last_window(column);
    T sum{};
    for (std::int64_t r = windows.rows.first_window(row); r < last_row; ++r) {
      for (std::int64_t c = windows.columns.first_window(column); c < last_column; ++c) {
        const std::int64_t at = plane + (r * windows.columns.outputs + c) * windows.y.pixel_stride();
        if (positions[at] == windows.position(row, r, column, c)) sum += dy[at];
      }
    }
    dx[i] = sum;
  }
};

// One value of y: the mean of the window's pixels, without padding.
template <class T>
struct AveragePool {
  const T* x = nullptr;
  T* y = nullptr;
  Windows windows;

  VDNN_HOST_DEVICE void operator()(std::int64_t i) const {
    const Place place = windows.y.place(i);
    const std::int64_t window_row = place.pixel / windows.columns.outputs;
    const std::int64_t window_column = place.pixel % windows.columns.outputs;
    const T* plane = x + windows.x.offset({place.image, place.channel, 0});
    T sum{};
    for (std::int64_t r = windows.rows.begin(window_row); r < windows.rows.end(window_row); ++r) {
      for (std::int64_t c = windows.columns.begin(window_column); c < windows.columns.end(window_column);
           ++c) {
        sum += plane[(r * windows.columns.inputs + c) * windows.x.pixel_stride()];
      }
    }
    y[i] = sum / static_cast<T>(windows.pixels(window_row, window_column));
  }
};

// One value of dx, gathered as in MaxPoolBackward.
template <class T>
struct AveragePoolBackward {
  const T* dy = nullptr;
  T* dx = nullptr;
  Windows windows;

  VDNN_HOST_DEVICE void operator()(std::int64_t i) const {
    const Place place = windows.x.place(i);
    const std::int64_t row = place.pixel / windows.columns.inputs;
    const std::int64_t column = place.pixel % windows.columns.inputs;
    const T* plane = dy + windows.y.offset({place.image, place.channel, 0});
    const std::int64_t last_row = windows.rows.last_window(row);
    const std::int64_t last_column = windows.columns.last_window(column);
    T sum{};
    for (std::int64_t r = windows.rows.first_window(row); r < last_row; ++r) {
      for (std::int64_t c = windows.columns.first_window(column); c < last_column; ++c) {
        const T value = plane[(r * windows.columns.outputs + c) * windows.y.pixel_stride()];
        sum += value / static_cast<T>(windows.pixels(r, c));
      }
    }
    dx[i] = sum;
  }
};

}  // namespace vdnn::cuda
