#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "base/counter_random.h"
#include "device/reference/reference_kernels.h"
#include "vdnn/training_graph.h"

namespace vdnn::testing {

// Value `element` of a weight before training.
using WeightFill = std::function<double(const TrainedParameter& parameter, std::int64_t element)>;

// Running variances are 1 and all other weights uniform in [-scale, scale).
inline WeightFill uniform_weights(std::uint64_t seed, double scale) {
  return [=](const TrainedParameter& trained, std::int64_t element) {
    const Parameter& parameter = trained.parameter;
    if (parameter.statistics) return parameter.initializer == Initializer::ones ? 1.0 : 0.0;
    const CounterRandom random(seed, trained.random_stream, 1);
    return scale * (2.0 * random.uniform(static_cast<std::uint64_t>(element)) - 1.0);
  };
}

// Runs a training graph, op after op, on the reference kernels. A vector of doubles per storage root:
// tensors that share memory in the graph share it here, so that wrong sharing gives wrong numbers.
// What does not survive a step is NaN when a step starts.
class GraphInterpreter {
 public:
  GraphInterpreter(TrainingGraph graph, const WeightFill& fill) : graph_(std::move(graph)) {
    memory_.resize(graph_.tensors.size());
    for (std::size_t i = 0; i < memory_.size(); ++i) {
      const auto count = static_cast<std::size_t>(graph_.tensors[i].shape.elements());
      auto& root = memory_[graph_.storage[i].index()];
      root.resize(std::max(root.size(), count), 0.0);
    }
    for (const auto& parameter : graph_.parameters) {
      const std::span<double> weight = values(parameter.tensor);
      for (std::size_t i = 0; i < weight.size(); ++i) {
        weight[i] = fill(parameter, static_cast<std::int64_t>(i));
      }
    }
    stage_random_batch(0);
  }

  [[nodiscard]] const TrainingGraph& graph() const { return graph_; }

  // Uniform values in [-1, 1) as images, random classes as labels.
  void stage_random_batch(std::uint64_t seed) {
    const CounterRandom random(seed, 0xba7c4, 0);
    std::uint64_t draw = 0;
    for (double& value : values(graph_.staged_images)) value = 2.0 * random.uniform(draw++) - 1.0;
    for (double& label : values(graph_.staged_labels)) {
      label = static_cast<double>(random.draw(draw++) % static_cast<std::uint64_t>(graph_.classes));
    }
  }

  // Valid until the interpreter is destroyed.
  [[nodiscard]] std::span<double> values(TensorId tensor) {
    auto& root = memory_[graph_.storage[tensor.index()].index()];
    return {root.data(), static_cast<std::size_t>(graph_.tensor(tensor).shape.elements())};
  }
  [[nodiscard]] std::span<double> values(std::string_view name) { return values(tensor_named(name)); }

  [[nodiscard]] TensorId tensor_named(std::string_view name) const {
    for (std::size_t i = 0; i < graph_.tensors.size(); ++i) {
      if (graph_.tensors[i].name == name) return TensorId(i);
    }
    throw std::out_of_range("no tensor " + std::string(name));
  }

  // Sum of the losses of the last step.
  [[nodiscard]] double loss() {
    double sum = 0;
    for (const auto loss : graph_.losses) sum += values(loss)[0];
    return sum;
  }

  // A whole step. `after` sees the interpreter after each op.
  void step(const StepScalars& scalars, const std::function<void(const TrainingOp&)>& after = {}) {
    forget();
    for (const auto& op : graph_.ops) {
      run(op, scalars);
      if (after) after(op);
    }
  }

  // The step up to the losses; changes running statistics, but no weights.
  void forward(const StepScalars& scalars) {
    forget();
    for (const auto& op : graph_.ops) {
      if (op.phase == Phase::load || op.phase == Phase::forward) run(op, scalars);
    }
  }

 private:
  void forget() {
    for (std::size_t i = 0; i < memory_.size(); ++i) {
      if (graph_.tensors[i].persistent) continue;
      std::fill(memory_[i].begin(), memory_[i].end(), std::numeric_limits<double>::quiet_NaN());
    }
  }

  std::vector<reference::Tensor> tensors(std::span<const TensorId> ids) {
    std::vector<reference::Tensor> result;
    for (const auto id : ids) result.push_back({graph_.tensor(id).shape, values(id).data()});
    return result;
  }

  void run(const TrainingOp& op, const StepScalars& scalars) {
    reference::run(op, tensors(op.inputs), tensors(op.outputs), scalars);
  }

  TrainingGraph graph_;
  std::vector<std::vector<double>> memory_;  // by storage root; empty for other tensors
};

}  // namespace vdnn::testing
