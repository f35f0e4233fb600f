#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "support/training_run.h"

namespace vdnn::testing {

// Losses of two steps and by how much every weight has moved.
struct Movements {
  std::vector<double> losses;
  std::vector<std::string> names;
  std::vector<std::vector<double>> moved;  // by weight
};

inline constexpr double kLearningRate = 0.01;

inline Movements train_two_steps(Job& job, const std::vector<int>& assignment) {
  Session session(job, job.plan({.policy = "baseline", .budget_bytes = 2LL << 30, .assignment = assignment}),
                  synthetic_data(job.graph()), {.seed = 3, .learning_rate = kLearningRate, .poison = true});
  Movements result;
  const auto before = weights(session);
  for (int step = 0; step < 2; ++step) result.losses.push_back(session.step().loss);
  const auto after = weights(session);
  for (std::size_t w = 0; w < after.size(); ++w) {
    result.names.push_back(job.graph().parameters[w].parameter.name);
    auto& moved = result.moved.emplace_back(after[w].begin(), after[w].end());
    for (std::size_t i = 0; i < moved.size(); ++i) moved[i] -= before[w][i];
  }
  return result;
}

// A thousandth of a weight's largest movement, and what float32 cannot tell.
inline void expect_same_movements(const Movements& actual, const Movements& expected) {
  constexpr double kTolerance = 1e-3;
  constexpr double kRounding = 1e-4 * kLearningRate;
  for (std::size_t step = 0; step < expected.losses.size(); ++step) {
    EXPECT_NEAR(actual.losses[step], expected.losses[step], 1e-4 * std::abs(expected.losses[step]) + 1e-6);
  }
  ASSERT_EQ(actual.names, expected.names);
  double most_moved = 0;
  for (std::size_t w = 0; w < expected.moved.size(); ++w) {
    double largest = 0;
    for (const double moved : expected.moved[w]) largest = std::max(largest, std::abs(moved));
    most_moved = std::max(most_moved, largest);
    ASSERT_EQ(actual.moved[w].size(), expected.moved[w].size());
    for (std::size_t i = 0; i < expected.moved[w].size(); ++i) {
      ASSERT_NEAR(actual.moved[w][i], expected.moved[w][i], kTolerance * largest + kRounding)
          << expected.names[w] << "[" << i << "]";
    }
  }
  EXPECT_GT(most_moved, kLearningRate * 1e-3) << "nothing was learned";
}

// The memory-optimal kernels, then every other candidate of every kernel, one at a time.
inline std::vector<std::vector<int>> assignments_of_all_candidates(const Program& program) {
  const std::vector<int> memory = assign_candidates(program, Algorithms::memory);
  std::vector<std::vector<int>> all = {memory};
  for (std::size_t k = 0; k < program.kernels.size(); ++k) {
    for (int c = 0; c < static_cast<int>(program.kernels[k].candidates.size()); ++c) {
      if (c == memory[k]) continue;
      all.push_back(memory);
      all.back()[k] = c;
    }
  }
  return all;
}

inline std::string assignment_text(const Program& program, const std::vector<int>& assignment) {
  std::string text;
  for (std::size_t k = 0; k < program.kernels.size(); ++k) {
    const Kernel& kernel = program.kernels[k];
    if (kernel.candidates.size() == 1) continue;
    const Candidate& candidate = kernel.candidates[static_cast<std::size_t>(assignment[k])];
    text += fmt::format("\n  {}: {} in {} slices", kernel.signature, candidate.algorithm, candidate.slices);
  }
  return text;
}

// Trains two steps on both devices, with every candidate of the CPU's.
inline void expect_cpu_matches_reference(const Graph& graph) {
  SCOPED_TRACE(to_text(graph));
  Job reference(graph, {.device = "reference"});
  Job cpu(graph, {.device = "cpu", .threads = 2});
  const Movements expected =
      train_two_steps(reference, assign_candidates(reference.program(), Algorithms::memory));
  for (const auto& assignment : assignments_of_all_candidates(cpu.program())) {
    SCOPED_TRACE(assignment_text(cpu.program(), assignment));
    expect_same_movements(train_two_steps(cpu, assignment), expected);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

// A network around the ops of `make`: a 1x1 convolution in front, so that gradients must pass through
// them to move a weight, and a classifier behind.
template <class Make>
Graph network_around(const Shape& x, Make&& make) {
  GraphBuilder builder("around", {x[0], 3, x[2], x[3]});
  const TensorId before = builder.convolution("before", builder.input(), {.channels = x[1]});
  const TensorId y = std::forward<Make>(make)(builder, before);
  builder.softmax_cross_entropy("loss", builder.fully_connected("classifier", y, {.features = 5}));
  return std::move(builder).build();
}

}  // namespace vdnn::testing
