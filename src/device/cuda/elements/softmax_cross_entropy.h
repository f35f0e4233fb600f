#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "device/cuda/elements/host_device.h"

namespace vdnn::cuda {

// Lanes that share a row or a sum; a power of two.
inline constexpr int kLanes = 256;

struct Larger {
  VDNN_HOST_DEVICE double operator()(double a, double b) const { return a < b ? b : a; }
};
struct Plus {
  VDNN_HOST_DEVICE double operator()(double a, double b) const { return a + b; }
};

// A lane's part of one level of a reduction over kLanes values in memory that all lanes see; levels have half
// = kLanes / 2, ..., 2, 1, and all lanes are done with one before the next. The result is values[0].
template <class Combine>
VDNN_HOST_DEVICE inline void fold_lane(double* values, int lane, int half, Combine combine) {
  if (lane < half) values[lane] = combine(values[lane], values[lane + half]);
}

// logits [batch x classes], labels [batch] -> probabilities [batch x classes] and the loss of every example.
// Lane l has classes l, l + kLanes, ...: the order of each sum is fixed.
template <class T>
struct SoftmaxRows {
  const T* logits = nullptr;
  const std::int32_t* labels = nullptr;
  T* probabilities = nullptr;
  double* losses = nullptr;
  std::int64_t classes = 0;

  // What the lane finds as the largest logit.
  [[nodiscard]] VDNN_HOST_DEVICE double largest(std::int64_t row, int lane) const {
    double result = -std::numeric_limits<double>::infinity();
    for (std::int64_t c = lane; c < classes; c += kLanes) {
      result = Larger()(result, static_cast<double>(logits[row * classes + c]));
    }
    return result;
  }
  [[nodiscard]] VDNN_HOST_DEVICE double exponential(std::int64_t row, std::int64_t c, T largest) const {
    return std::exp(static_cast<double>(logits[row * classes + c] - largest));
  }
  // The lane's share of the sum of exponentials.
  [[nodiscard]] VDNN_HOST_DEVICE double sum(std::int64_t row, T largest, int lane) const {
    double result = 0;
    for (std::int64_t c = lane; c < classes; c += kLanes) result += exponential(row, c, largest);
    return result;
  }
  VDNN_HOST_DEVICE void store_probabilities(std::int64_t row, T largest, double sum, int lane) const {
    for (std::int64_t c = lane; c < classes; c += kLanes) {
      probabilities[row * classes + c] = static_cast<T>(exponential(row, c, largest) / sum);
    }
  }
  // From the logits, because the logarithm of a probability that rounds to zero is infinite. A label that is
  // no class makes the loss NaN: kernels cannot throw.
  VDNN_HOST_DEVICE void store_loss(std::int64_t row, T largest, double sum) const {
    const std::int64_t label = labels[row];
    losses[row] = label < 0 || label >= classes
                      ? std::numeric_limits<double>::quiet_NaN()
                      : std::log(sum) - static_cast<double>(logits[row * classes + label] - largest);
  }
};

// losses [batch] -> loss [1]: their weighted mean.
template <class T>
struct MeanLoss {
  const double* losses = nullptr;
  T* loss = nullptr;
  std::int64_t batch = 0;
  double weight = 1;

  [[nodiscard]] VDNN_HOST_DEVICE double sum(int lane) const {
    double result = 0;
    for (std::int64_t n = lane; n < batch; n += kLanes) result += losses[n];
    return result;
  }
  VDNN_HOST_DEVICE void store(double sum) const {
    *loss = static_cast<T>(weight * sum / static_cast<double>(batch));
  }
};

// One value of dlogits [batch x classes] from probabilities and labels. A label that is no class is compared
// with, but names no memory.
template <class T>
struct SoftmaxCrossEntropyBackward {
  const T* probabilities = nullptr;
  const std::int32_t* labels = nullptr;
  T* gradient = nullptr;
  std::int64_t classes = 0;
  T scale = 0;  // weight / batch

  VDNN_HOST_DEVICE void operator()(std::int64_t i) const {
    const std::int64_t row = i / classes;
    const T value = scale * probabilities[i];
    gradient[i] = i - row * classes == labels[row] ? value - scale : value;
  }
};

}  // namespace vdnn::cuda
