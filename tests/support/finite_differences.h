#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "support/graph_interpreter.h"

namespace vdnn::testing {

// A network's weight gradients two ways: as its backward ops compute them, and as central differences of
// the loss. Both in double precision, so that they agree to six digits wherever the loss is smooth.
class FiniteDifferences {
 public:
  explicit FiniteDifferences(const Graph& graph, std::uint64_t seed = 1)
      : interpreter_(differentiate(graph, {.momentum = 0, .weight_decay = 0}), uniform_weights(seed, 0.5)) {
    interpreter_.stage_random_batch(seed);
    scalars_ = {.seed = seed, .step = 3, .learning_rate = 1};
  }

  // By the step's effect: without momentum and with learning rate 1 a weight moves by its gradient.
  std::vector<double> gradient(const TrainedParameter& parameter) {
    const std::vector<std::vector<double>> memory = weights();
    interpreter_.step(scalars_);
    const std::size_t at = index_of(parameter);
    const auto after = interpreter_.values(parameter.tensor);
    std::vector<double> result(memory[at]);
    for (std::size_t i = 0; i < result.size(); ++i) result[i] -= after[i];
    set_weights(memory);
    return result;
  }

  double difference(const TrainedParameter& parameter, std::size_t element) {
    constexpr double kStep = 1e-5;
    double& weight = interpreter_.values(parameter.tensor)[element];
    const double before = weight;
    weight = before + kStep;
    const double above = loss();
    weight = before - kStep;
    const double below = loss();
    weight = before;
    return (above - below) / (2 * kStep);
  }

  [[nodiscard]] const std::vector<TrainedParameter>& parameters() const {
    return interpreter_.graph().parameters;
  }

 private:
  double loss() {
    interpreter_.forward(scalars_);
    return interpreter_.loss();
  }

  std::vector<std::vector<double>> weights() {
    std::vector<std::vector<double>> result;
    for (const auto& parameter : parameters()) {
      const auto values = interpreter_.values(parameter.tensor);
      result.emplace_back(values.begin(), values.end());
    }
    return result;
  }

  void set_weights(const std::vector<std::vector<double>>& weights) {
    for (std::size_t i = 0; i < weights.size(); ++i) {
      std::copy(weights[i].begin(), weights[i].end(), interpreter_.values(parameters()[i].tensor).begin());
    }
  }

  [[nodiscard]] std::size_t index_of(const TrainedParameter& parameter) const {
    return static_cast<std::size_t>(&parameter - parameters().data());
  }

  GraphInterpreter interpreter_;
  StepScalars scalars_;
};

// Every element of every weight that learns (of large weights every seventh), to a millionth of the larger
// of the two or of a hundredth of the weight's largest gradient; a weight whose gradients all vanish proves
// nothing and fails.
inline void expect_gradients_match(const Graph& graph) {
  constexpr double kTolerance = 1e-6;
  FiniteDifferences differences(graph);
  for (const auto& parameter : differences.parameters()) {
    if (parameter.parameter.statistics) continue;
    const std::vector<double> gradient = differences.gradient(parameter);
    double largest = 0;
    for (const double value : gradient) largest = std::max(largest, std::abs(value));
    EXPECT_GT(largest, 1e-4) << parameter.parameter.name;
    const std::size_t stride = gradient.size() > 150 ? 7 : 1;
    for (std::size_t i = 0; i < gradient.size(); i += stride) {
      const double expected = differences.difference(parameter, i);
      const double scale = std::max({std::abs(expected), std::abs(gradient[i]), 1e-2 * largest});
      ASSERT_LE(std::abs(gradient[i] - expected), kTolerance * scale)
          << parameter.parameter.name << "[" << i << "]: " << gradient[i] << ", by differences " << expected;
    }
  }
}

}  // namespace vdnn::testing
