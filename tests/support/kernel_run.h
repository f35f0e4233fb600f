#pragma once

#include <span>
#include <utility>
#include <vector>

#include "device/reference/reference_kernels.h"

namespace vdnn::testing {

// Runs one reference kernel on tensors given by their numbers. Outputs have memory of their own and start
// as -77, unless `in_place` says which inputs the first outputs overwrite.
class KernelRun {
 public:
  KernelRun(OpKind kind, Attributes attributes) : op_{.kind = kind, .attributes = std::move(attributes)} {}

  KernelRun& input(const Shape& shape, std::vector<double> values) {
    inputs_.push_back({shape, std::move(values)});
    return *this;
  }
  KernelRun& output(const Shape& shape) {
    outputs_.push_back({shape, std::vector<double>(static_cast<std::size_t>(shape.elements()), -77.0)});
    return *this;
  }
  KernelRun& in_place(std::vector<std::size_t> inputs) {
    in_place_ = std::move(inputs);
    return *this;
  }
  KernelRun& random_stream(std::uint32_t stream) {
    op_.random_stream = stream;
    return *this;
  }

  // The outputs' values, in order.
  std::vector<std::vector<double>> run(const StepScalars& scalars = {}) {
    std::vector<reference::Tensor> inputs;
    std::vector<reference::Tensor> outputs;
    for (auto& tensor : inputs_) inputs.push_back({tensor.shape, tensor.values.data()});
    for (auto& tensor : outputs_) outputs.push_back({tensor.shape, tensor.values.data()});
    for (std::size_t i = 0; i < in_place_.size(); ++i) outputs[i].data = inputs[in_place_[i]].data;
    reference::run(op_, inputs, outputs, scalars);
    std::vector<std::vector<double>> results;
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      results.push_back(i < in_place_.size() ? inputs_[in_place_[i]].values : outputs_[i].values);
    }
    return results;
  }

 private:
  struct Tensor {
    Shape shape;
    std::vector<double> values;
  };

  TrainingOp op_;
  std::vector<Tensor> inputs_;
  std::vector<Tensor> outputs_;
  std::vector<std::size_t> in_place_;
};

}  // namespace vdnn::testing
