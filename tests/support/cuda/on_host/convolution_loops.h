#pragma once

#include <cstdint>
#include <vector>

namespace vdnn::testing {

// A tensor of four axes in memory: batch, channels, height, width.
struct StridedTensor {
  std::vector<std::int64_t> dims;
  std::vector<std::int64_t> strides;  // in values
  float* values = nullptr;

  [[nodiscard]] std::int64_t count() const { return dims[0] * dims[1] * dims[2] * dims[3]; }
  [[nodiscard]] std::vector<float> row_major() const;
  void store(const std::vector<float>& row_major) const;
};

enum class ConvolutionResult { x, weight, y };

// x * weight = y, of which `result` is made from the other two. Height before width.
struct ConvolutionLoops {
  ConvolutionResult result;
  StridedTensor x;
  StridedTensor weight;
  StridedTensor y;
  std::vector<std::int64_t> padding;
  std::vector<std::int64_t> strides;
  std::vector<std::int64_t> dilations;

  void run() const;
};

}  // namespace vdnn::testing
