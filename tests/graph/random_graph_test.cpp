#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "support/graph_interpreter.h"
#include "support/random_graph.h"
#include "vdnn/training_graph.h"

namespace vdnn::testing {
namespace {

constexpr std::uint64_t kSeeds = 300;

TEST(RandomGraph, HasThreeToFourteenOpsAndEndsInALoss) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const Graph graph = random_graph(seed);
    EXPECT_GE(graph.ops().size(), 3U) << to_text(graph);
    EXPECT_LE(graph.ops().size(), 14U) << to_text(graph);
    EXPECT_EQ(graph.ops().back().kind, OpKind::softmax_cross_entropy) << to_text(graph);
  }
}

TEST(RandomGraph, UsesEveryKindOfOpOftenAndSideLossesNowAndThen) {
  std::vector<int> networks_with(static_cast<std::size_t>(OpKind::sgd_update) + 1, 0);
  int side_losses = 0;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const TrainingGraph graph = differentiate(random_graph(seed), {});
    std::set<OpKind> kinds;
    for (const auto& op : graph.ops) kinds.insert(op.kind);
    for (const auto kind : kinds) ++networks_with[static_cast<std::size_t>(kind)];
    if (graph.losses.size() == 2) ++side_losses;
  }
  for (std::size_t kind = 0; kind < networks_with.size(); ++kind) {
    EXPECT_GE(networks_with[kind], 25) << op_name(static_cast<OpKind>(kind));
  }
  EXPECT_GE(side_losses, 25);
}

TEST(RandomGraph, IsAFunctionOfTheSeed) {
  EXPECT_EQ(to_text(random_graph(5)), to_text(random_graph(5)));
  EXPECT_NE(to_text(random_graph(5)), to_text(random_graph(6)));
}

// Every value that a step leaves behind is finite: nothing was read before it was written, since the
// interpreter starts with NaN everywhere.
TEST(RandomGraph, TrainsWithFiniteNumbers) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const Graph graph = random_graph(seed);
    GraphInterpreter interpreter(differentiate(graph, {.momentum = 0.9, .weight_decay = 1e-4}),
                                 uniform_weights(seed, 0.2));
    for (std::int64_t step = 0; step < 2; ++step) {
      interpreter.step({.seed = seed, .step = step, .learning_rate = 0.01});
      EXPECT_TRUE(std::isfinite(interpreter.loss())) << to_text(graph);
      EXPECT_GT(interpreter.loss(), 0) << to_text(graph);
    }
    for (const auto& parameter : interpreter.graph().parameters) {
      for (const double value : interpreter.values(parameter.tensor)) {
        ASSERT_TRUE(std::isfinite(value)) << parameter.parameter.name << " of\n" << to_text(graph);
      }
    }
  }
}

// Working in place changes no number: the same graph with memory of its own for every tensor.
TEST(RandomGraph, TrainsTheSameWithoutSharedStorage) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const TrainingGraph shared = differentiate(random_graph(seed), {.momentum = 0});
    TrainingGraph separate = shared;
    for (std::size_t i = 0; i < separate.storage.size(); ++i) separate.storage[i] = TensorId(i);
    GraphInterpreter in_place(shared, uniform_weights(seed, 0.2));
    GraphInterpreter apart(separate, uniform_weights(seed, 0.2));
    in_place.step({.seed = seed, .learning_rate = 0.1});
    apart.step({.seed = seed, .learning_rate = 0.1});
    EXPECT_EQ(in_place.loss(), apart.loss()) << to_text(random_graph(seed));
    for (const auto& parameter : shared.parameters) {
      const auto a = in_place.values(parameter.tensor);
      const auto b = apart.values(parameter.tensor);
      ASSERT_TRUE(std::equal(a.begin(), a.end(), b.begin())) << parameter.parameter.name << " of\n"
                                                             << to_text(random_graph(seed));
    }
  }
}

}  // namespace
}  // namespace vdnn::testing
