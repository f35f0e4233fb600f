#include <fmt/format.h>

#include "device/cpu/against_reference.h"
#include "device/cuda/kernels_on_gpu.h"
#include "support/random_draws.h"

namespace vdnn::testing {
namespace {

// Every op, with attributes that the zoo has and some that it has not. No convolution with a bias stands
// right before a batch norm, where the bias's gradient is zero but for rounding.
Graph every_op() {
  GraphBuilder b("every_op", {3, 5, 37, 33});
  auto x = b.convolution("first", b.input(),
                         {.channels = 24, .kernel = {7, 7}, .stride = {2, 2}, .padding = {3, 3}});
  x = b.lrn("lrn", b.relu("first_relu", x), {.size = 5, .alpha = 0.5, .beta = 0.75, .k = 1});
  x = b.max_pool("overlapping", x, {.kernel = {3, 3}, .stride = {2, 2}, .ceil = true});
  const auto one = b.convolution("one", x, {.channels = 12});
  const auto grouped =
      b.convolution("grouped", x, {.channels = 20, .kernel = {3, 3}, .padding = {1, 1}, .groups = 4});
  const auto dilated = b.convolution(
      "dilated", x, {.channels = 7, .kernel = {3, 3}, .padding = {2, 2}, .dilation = {2, 2}, .bias = false});
  const auto pooled = b.max_pool("same_size", x, {.kernel = {3, 3}, .padding = {1, 1}});
  x = b.relu("joined_relu", b.concat("joined", {one, grouped, dilated, pooled}));
  const auto aside = b.average_pool("aside_pool", x, {.kernel = {5, 4}, .stride = {3, 2}});
  b.softmax_cross_entropy("aside_loss", b.fully_connected("aside", aside, {.features = 6}), {.weight = 0.3});
  auto y = b.convolution("narrow", x, {.channels = 16, .bias = false});
  y = b.relu("narrow_relu", b.batch_norm("narrow_norm", y, {.epsilon = 1e-3, .momentum = 0.2}));
  y = b.convolution("wide", y, {.channels = 63, .kernel = {3, 3}, .padding = {1, 1}, .bias = false});
  x = b.relu("sum_relu", b.add("sum", b.batch_norm("wide_norm", y), x));
  x = b.average_pool("average", x, {.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}});
  x = b.fully_connected("features", b.dropout("map_dropout", x, {.probability = 0.3}), {.features = 50});
  x = b.dropout("dropout", b.relu("features_relu", x), {.probability = 0.5});
  b.softmax_cross_entropy("loss", b.fully_connected("classifier", x, {.features = 6, .bias = false}));
  return std::move(b).build();
}

Graph around(const Shape& x, const ConvolutionAttributes& attributes) {
  return network_around(
      x, [&](GraphBuilder& b, TensorId t) { return b.convolution("convolution", t, attributes); });
}
Graph around(const Shape& x, const PoolingAttributes& attributes, bool max) {
  return network_around(x, [&](GraphBuilder& b, TensorId t) {
    return max ? b.max_pool("pool", t, attributes) : b.average_pool("pool", t, attributes);
  });
}

TEST_P(KernelsOnGpu, OfEveryOp) {
  expect_same(every_op());
}

// The shapes of the zoo's convolutions on small images.
TEST_P(KernelsOnGpu, OfConvolutionsOfTheZoo) {
  expect_same(
      around({2, 3, 67, 67}, {.channels = 64, .kernel = {11, 11}, .stride = {4, 4}, .padding = {2, 2}}));
  expect_same(around({2, 3, 71, 71}, {.channels = 96, .kernel = {11, 11}, .stride = {4, 4}}));
  expect_same(around({2, 64, 13, 13}, {.channels = 192, .kernel = {5, 5}, .padding = {2, 2}}));
  expect_same(
      around({2, 3, 64, 64}, {.channels = 64, .kernel = {7, 7}, .stride = {2, 2}, .padding = {3, 3}}));
  expect_same(around({2, 64, 28, 28}, {.channels = 64, .kernel = {3, 3}, .padding = {1, 1}}));
  expect_same(around({4, 512, 7, 7}, {.channels = 512, .kernel = {3, 3}, .padding = {1, 1}}));
  expect_same(
      around({2, 128, 14, 14},
             {.channels = 128, .kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}, .bias = false}));
  expect_same(around({2, 256, 14, 14}, {.channels = 512, .stride = {2, 2}, .bias = false}));
  expect_same(around({2, 480, 14, 14}, {.channels = 16}));
}

TEST_P(KernelsOnGpu, OfOtherConvolutions) {
  expect_same(around({1, 1, 5, 7}, {.channels = 1, .kernel = {3, 3}, .padding = {1, 1}}));
  expect_same(around({3, 17, 11, 11}, {.channels = 23, .kernel = {3, 3}, .padding = {1, 1}}));
  expect_same(
      around({2, 6, 12, 15}, {.channels = 18, .kernel = {1, 5}, .stride = {1, 2}, .padding = {0, 2}}));
  expect_same(around({2, 16, 10, 12}, {.channels = 16, .kernel = {3, 3}, .stride = {2, 4}}));
  expect_same(
      around({2, 16, 13, 14}, {.channels = 19, .kernel = {3, 3}, .padding = {2, 1}, .dilation = {2, 3}}));
  expect_same(around({3, 12, 6, 5}, {.channels = 30, .kernel = {6, 5}}));
  expect_same(around({2, 32, 9, 9}, {.channels = 64, .kernel = {3, 3}, .padding = {1, 1}, .groups = 2}));
  expect_same(around({2, 12, 9, 8}, {.channels = 18, .kernel = {3, 3}, .padding = {1, 1}, .groups = 3}));
  expect_same(around({2, 40, 7, 7}, {.channels = 20, .kernel = {3, 3}, .groups = 2, .bias = false}));
  expect_same(around({2, 32, 10, 9}, {.channels = 32, .kernel = {3, 3}, .padding = {1, 1}, .groups = 32}));
  expect_same(around({2, 8, 6, 6}, {.channels = 24, .kernel = {3, 3}, .padding = {1, 1}, .groups = 8}));
}

TEST_P(KernelsOnGpu, OfPoolings) {
  for (const bool max : {true, false}) {
    expect_same(around({2, 37, 13, 12}, {.kernel = {3, 3}, .stride = {2, 2}}, max));
    expect_same(around({2, 8, 12, 13}, {.kernel = {3, 3}, .stride = {2, 2}, .ceil = true}, max));
    expect_same(around({1, 5, 9, 11}, {.kernel = {3, 2}, .stride = {1, 3}, .padding = {2, 1}}, max));
    expect_same(around({3, 16, 8, 8}, {.kernel = {2, 2}, .stride = {2, 2}}, max));
    expect_same(around({3, 2, 7, 5}, {.global = true}, max));
    expect_same(around({2, 3, 21, 17}, {.global = true}, max));  // more positions than a byte tells apart
  }
}

TEST_P(KernelsOnGpu, OfNormalisations) {
  for (const std::int64_t size : {1, 3, 5, 41}) {
    expect_same(network_around({2, 19, 5, 6}, [&](GraphBuilder& b, TensorId t) {
      return b.lrn("lrn", t, {.size = size, .alpha = 0.7, .beta = size == 1 ? 1.0 : 0.75, .k = 2});
    }));
  }
  for (const std::int64_t channels : {1, 5, 64}) {
    expect_same(network_around({4, channels, 9, 7}, [](GraphBuilder& b, TensorId t) {
      return b.batch_norm("norm", b.relu("relu", t), {.epsilon = 1e-3, .momentum = 0.2});
    }));
  }
}

// Weights of more than 64 MiB, whose gradient is made and consumed slice by slice, the last one short.
TEST_P(KernelsOnGpu, OfFullyConnectedLayersInSlices) {
  GraphBuilder b("in_slices", {2, 4, 64, 64});
  const auto x = b.relu("relu", b.fully_connected("large", b.input(), {.features = 1100}));
  b.softmax_cross_entropy("loss", b.fully_connected("classifier", x, {.features = 7}));
  expect_same(std::move(b).build());
}

TEST_P(KernelsOnGpu, OfRandomConvolutions) {
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    RandomDraws draws(seed);
    const std::int64_t groups = draws.chance(0.3) ? draws.between(2, 4) : 1;
    const Shape x{draws.between(1, 5), groups * draws.between(1, 80 / groups), draws.between(5, 29),
                  draws.between(5, 29)};
    expect_same(around(x, {.channels = groups * draws.between(1, 80 / groups),
                           .kernel = {draws.between(1, 5), draws.between(1, 5)},
                           .stride = {draws.between(1, 3), draws.between(1, 3)},
                           .padding = {draws.between(0, 2), draws.between(0, 2)},
                           .groups = groups,
                           .bias = draws.chance(0.5)}));
  }
}

INSTANTIATE_TEST_SUITE_P(Cuda, KernelsOnGpu, ::testing::Values(float32(), tf32(), fast()), asked_name);

}  // namespace
}  // namespace vdnn::testing
