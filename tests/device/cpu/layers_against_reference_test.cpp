#include "device/cpu/against_reference.h"

namespace vdnn::testing {
namespace {

// Shapes with one channel, less than a block, whole blocks, and a block and a bit.
const std::vector<Shape> kShapes = {{1, 1, 5, 6}, {2, 4, 3, 7}, {2, 5, 6, 5}, {3, 16, 4, 4}, {2, 37, 5, 5}};

template <class Make>
void expect_matches_on_all_shapes(Make&& make) {
  for (const auto& x : kShapes) expect_cpu_matches_reference(network_around(x, make));
}

TEST(CpuRelu, MatchesTheReference) {
  expect_matches_on_all_shapes([](GraphBuilder& b, TensorId t) { return b.relu("relu", t); });
}

TEST(CpuLrn, MatchesTheReference) {
  expect_matches_on_all_shapes([](GraphBuilder& b, TensorId t) {
    return b.lrn("lrn", t, {.size = 5, .alpha = 0.5, .beta = 0.75, .k = 1});
  });
}

TEST(CpuLrn, WithAWindowWiderThanTheChannels) {
  expect_matches_on_all_shapes([](GraphBuilder& b, TensorId t) {
    return b.lrn("lrn", t, {.size = 41, .alpha = 2, .beta = 0.5, .k = 2});
  });
}

TEST(CpuLrn, OfOneChannelAtATime) {
  expect_matches_on_all_shapes([](GraphBuilder& b, TensorId t) {
    return b.lrn("lrn", t, {.size = 1, .alpha = 1, .beta = 1, .k = 1});
  });
}

TEST(CpuDropout, DropsWhatTheReferenceDrops) {
  expect_matches_on_all_shapes(
      [](GraphBuilder& b, TensorId t) { return b.dropout("dropout", t, {.probability = 0.3}); });
}

TEST(CpuDropout, OfVectorsDropsWhatTheReferenceDrops) {
  expect_matches_on_all_shapes([](GraphBuilder& b, TensorId t) {
    return b.dropout("dropout", b.fully_connected("features", t, {.features = 21}), {.probability = 0.5});
  });
}

TEST(CpuBatchNorm, MatchesTheReference) {
  expect_matches_on_all_shapes([](GraphBuilder& b, TensorId t) {
    return b.batch_norm("batch_norm", t, {.epsilon = 1e-3, .momentum = 0.2});
  });
}

TEST(CpuFullyConnected, OfBlockedImages) {
  expect_matches_on_all_shapes(
      [](GraphBuilder& b, TensorId t) { return b.fully_connected("features", t, {.features = 18}); });
}

TEST(CpuFullyConnected, WithoutBiasBehindAnother) {
  expect_matches_on_all_shapes([](GraphBuilder& b, TensorId t) {
    const auto first = b.fully_connected("first", t, {.features = 7, .bias = false});
    return b.fully_connected("second", b.relu("relu", first), {.features = 11, .bias = false});
  });
}

TEST(CpuFullyConnected, ReadTwiceFromTheSameImages) {
  expect_matches_on_all_shapes([](GraphBuilder& b, TensorId t) {
    const auto one = b.fully_connected("one", t, {.features = 9});
    return b.add("sum", one, b.fully_connected("two", t, {.features = 9}));
  });
}

// Above 64 MiB a weight is learned in slices, each with a gradient and a state of its own.
TEST(CpuFullyConnected, WithAWeightThatIsLearnedInSlices) {
  const Graph graph = network_around({1, 5, 25, 41}, [](GraphBuilder& b, TensorId t) {
    return b.fully_connected("large", t, {.features = 3301});
  });
  Job job(graph, {.device = "cpu", .threads = 2});
  const auto& kernels = job.program().kernels;
  EXPECT_EQ(std::count_if(kernels.begin(), kernels.end(),
                          [](const Kernel& kernel) {
                            return kernel.name == "large" && kernel.op == "fully_connected_backward_weights";
                          }),
            2);
  expect_cpu_matches_reference(graph);
}

TEST(CpuConcat, OfOddChannelCounts) {
  for (const auto& channels : std::vector<std::vector<std::int64_t>>{
           {1, 2}, {3, 5}, {5, 3, 16}, {16, 32}, {17, 1, 4, 30}, {2, 2, 1}}) {
    expect_cpu_matches_reference(network_around({2, 6, 5, 4}, [&](GraphBuilder& b, TensorId t) {
      std::vector<TensorId> parts;
      for (const auto count : channels) {
        parts.push_back(b.convolution(fmt::format("part{}", parts.size()), t, {.channels = count}));
      }
      return b.relu("relu", b.concat("concat", parts));
    }));
  }
}

TEST(CpuConcat, OfATensorWithItself) {
  expect_matches_on_all_shapes([](GraphBuilder& b, TensorId t) { return b.concat("concat", {t, t}); });
}

TEST(CpuAdd, OfAResidual) {
  expect_matches_on_all_shapes([](GraphBuilder& b, TensorId t) {
    const auto y =
        b.convolution("branch", t, {.channels = b.shape(t)[1], .kernel = {3, 3}, .padding = {1, 1}});
    return b.relu("relu", b.add("add", b.batch_norm("norm", y), t));
  });
}

TEST(CpuAdd, OfATensorWithItself) {
  expect_matches_on_all_shapes([](GraphBuilder& b, TensorId t) { return b.add("add", t, t); });
}

TEST(CpuLoss, SumsWeightedHeads) {
  expect_matches_on_all_shapes([](GraphBuilder& b, TensorId t) {
    const auto side = b.fully_connected("side", t, {.features = 5});
    b.softmax_cross_entropy("side_loss", side, {.weight = 0.3});
    return b.relu("relu", t);
  });
}

}  // namespace
}  // namespace vdnn::testing
