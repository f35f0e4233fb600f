#include "support/cuda/on_host/convolution_loops.h"

#include <algorithm>
#include <cstddef>

namespace vdnn::testing {
namespace {

template <class Visit>
void for_each_value(const StridedTensor& tensor, Visit visit) {
  std::size_t i = 0;
  for (std::int64_t n = 0; n < tensor.dims[0]; ++n) {
    for (std::int64_t c = 0; c < tensor.dims[1]; ++c) {
      for (std::int64_t h = 0; h < tensor.dims[2]; ++h) {
        float* row = tensor.values + n * tensor.strides[0] + c * tensor.strides[1] + h * tensor.strides[2];
        for (std::int64_t w = 0; w < tensor.dims[3]; ++w) visit(row[w * tensor.strides[3]], i++);
      }
    }
  }
}

// The outputs that a tap of the filter joins to inputs: output o to input o * step + offset.
struct Reach {
  std::int64_t first;
  std::int64_t end;
  std::int64_t step;
  std::int64_t offset;
};

class Loops {
 public:
  explicit Loops(const ConvolutionLoops& loops) : loops_(loops) {
    const bool writes[] = {loops.result == ConvolutionResult::x, loops.result == ConvolutionResult::weight,
                           loops.result == ConvolutionResult::y};
    const StridedTensor* tensors[] = {&loops.x, &loops.weight, &loops.y};
    std::vector<float>* dense[] = {&x_, &weight_, &y_};
    for (int i = 0; i < 3; ++i) {
      *dense[i] = writes[i] ? std::vector<float>(static_cast<std::size_t>(tensors[i]->count()), 0.0F)
                            : tensors[i]->row_major();
    }
  }

  // Every thread writes what no other does.
  void run() {
    const std::int64_t batch = loops_.x.dims[0];
    const std::int64_t inputs = loops_.x.dims[1];
    const std::int64_t outputs = loops_.y.dims[1];
    const std::int64_t group_inputs = loops_.weight.dims[1];
    const std::int64_t group_outputs = outputs / (inputs / group_inputs);
    if (loops_.result == ConvolutionResult::x) {
#pragma omp parallel for collapse(2)
      for (std::int64_t n = 0; n < batch; ++n) {
        for (std::int64_t c = 0; c < inputs; ++c) {
          const std::int64_t first = c / group_inputs * group_outputs;
          for (std::int64_t k = first; k < first + group_outputs; ++k) planes(n, c, k, c % group_inputs);
        }
      }
    } else if (loops_.result == ConvolutionResult::y) {
#pragma omp parallel for collapse(2)
      for (std::int64_t n = 0; n < batch; ++n) {
        for (std::int64_t k = 0; k < outputs; ++k) {
          const std::int64_t first = k / group_outputs * group_inputs;
          for (std::int64_t c = 0; c < group_inputs; ++c) planes(n, first + c, k, c);
        }
      }
    } else {
#pragma omp parallel for
      for (std::int64_t k = 0; k < outputs; ++k) {
        const std::int64_t first = k / group_outputs * group_inputs;
        for (std::int64_t n = 0; n < batch; ++n) {
          for (std::int64_t c = 0; c < group_inputs; ++c) planes(n, first + c, k, c);
        }
      }
    }
    switch (loops_.result) {
      case ConvolutionResult::x:
        return loops_.x.store(x_);
      case ConvolutionResult::weight:
        return loops_.weight.store(weight_);
      case ConvolutionResult::y:
        return loops_.y.store(y_);
    }
  }

 private:
  [[nodiscard]] Reach reach(std::size_t axis, std::int64_t tap) const {
    const std::int64_t step = loops_.strides[axis];
    const std::int64_t offset = tap * loops_.dilations[axis] - loops_.padding[axis];
    const std::int64_t inputs = loops_.x.dims[2 + axis];
    const std::int64_t first = offset < 0 ? (-offset + step - 1) / step : 0;
    const std::int64_t end = offset >= inputs ? 0 : (inputs - 1 - offset) / step + 1;
    return {first, std::min(end, loops_.y.dims[2 + axis]), step, offset};
  }

  // An image's input channel against an output channel.
  void planes(std::int64_t n, std::int64_t c, std::int64_t k, std::int64_t group_channel) {
    const std::int64_t width = loops_.x.dims[3];
    float* x = x_.data() + (n * loops_.x.dims[1] + c) * loops_.x.dims[2] * width;
    float* y = y_.data() + (n * loops_.y.dims[1] + k) * loops_.y.dims[2] * loops_.y.dims[3];
    for (std::int64_t r = 0; r < loops_.weight.dims[2]; ++r) {
      const Reach rows = reach(0, r);
      for (std::int64_t s = 0; s < loops_.weight.dims[3]; ++s) {
        const Reach columns = reach(1, s);
        float& weight = weight_[static_cast<std::size_t>(
            ((k * loops_.weight.dims[1] + group_channel) * loops_.weight.dims[2] + r) *
                loops_.weight.dims[3] +
            s)];
        double gradient = 0;
        for (std::int64_t row = rows.first; row < rows.end; ++row) {
          gradient +=
              line(x + (row * rows.step + rows.offset) * width, weight, y + row * loops_.y.dims[3], columns);
        }
        if (loops_.result == ConvolutionResult::weight) weight += static_cast<float>(gradient);
      }
    }
  }

  [[nodiscard]] double line(float* x, float weight, float* y, const Reach& columns) const {
    float sum = 0;
    if (loops_.result == ConvolutionResult::x) {
      for (std::int64_t o = columns.first; o < columns.end; ++o)
        x[o * columns.step + columns.offset] += weight * y[o];
    } else if (loops_.result == ConvolutionResult::y) {
      for (std::int64_t o = columns.first; o < columns.end; ++o)
        y[o] += weight * x[o * columns.step + columns.offset];
    } else {
      for (std::int64_t o = columns.first; o < columns.end; ++o)
        sum += y[o] * x[o * columns.step + columns.offset];
    }
    return sum;
  }

  const ConvolutionLoops& loops_;
  std::vector<float> x_;
  std::vector<float> weight_;
  std::vector<float> y_;
};

}  // namespace

std::vector<float> StridedTensor::row_major() const {
  std::vector<float> all(static_cast<std::size_t>(count()));
  for_each_value(*this, [&](float value, std::size_t i) { all[i] = value; });
  return all;
}

void StridedTensor::store(const std::vector<float>& row_major) const {
  for_each_value(*this, [&](float& value, std::size_t i) { value = row_major[i]; });
}

void ConvolutionLoops::run() const {
  Loops(*this).run();
}

}  // namespace vdnn::testing
