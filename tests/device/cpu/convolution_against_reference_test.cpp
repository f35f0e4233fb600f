#include <fmt/format.h>

#include "device/cpu/against_reference.h"
#include "support/random_draws.h"

namespace vdnn::testing {
namespace {

void expect_convolution_matches(const Shape& x, const ConvolutionAttributes& attributes) {
  expect_cpu_matches_reference(network_around(
      x, [&](GraphBuilder& b, TensorId t) { return b.convolution("convolution", t, attributes); }));
}

TEST(CpuConvolution, OfOneImageAndOneChannel) {
  expect_convolution_matches({1, 1, 5, 7}, {.channels = 1, .kernel = {3, 3}, .padding = {1, 1}});
}

TEST(CpuConvolution, OfChannelsThatFillBlocks) {
  expect_convolution_matches({2, 32, 13, 9}, {.channels = 48, .kernel = {3, 3}, .padding = {1, 1}});
}

TEST(CpuConvolution, OfChannelsThatFillNoBlock) {
  expect_convolution_matches({3, 17, 11, 11}, {.channels = 23, .kernel = {3, 3}, .padding = {1, 1}});
}

TEST(CpuConvolution, WhereWinogradIsPossibleWithoutBias) {
  expect_convolution_matches({2, 64, 28, 28},
                             {.channels = 64, .kernel = {3, 3}, .padding = {1, 1}, .bias = false});
}

TEST(CpuConvolution, OfPixelsAlone) {
  expect_convolution_matches({2, 20, 7, 9}, {.channels = 33});
}

TEST(CpuConvolution, WithALargeWindowAndStride) {
  expect_convolution_matches({2, 3, 35, 39},
                             {.channels = 24, .kernel = {11, 11}, .stride = {4, 4}, .padding = {2, 2}});
}

TEST(CpuConvolution, WithADifferentWindowInHeightAndWidth) {
  expect_convolution_matches({2, 6, 12, 15},
                             {.channels = 18, .kernel = {1, 5}, .stride = {1, 2}, .padding = {0, 2}});
}

TEST(CpuConvolution, ThatLeavesLastPixelsUnread) {
  expect_convolution_matches({2, 16, 10, 12}, {.channels = 16, .kernel = {3, 3}, .stride = {2, 4}});
}

TEST(CpuConvolution, WithDilation) {
  expect_convolution_matches({2, 16, 13, 14},
                             {.channels = 19, .kernel = {3, 3}, .padding = {2, 1}, .dilation = {2, 3}});
}

TEST(CpuConvolution, OfWholeImages) {
  expect_convolution_matches({3, 12, 6, 5}, {.channels = 30, .kernel = {6, 5}});
}

TEST(CpuConvolution, InGroupsThatFillBlocks) {
  expect_convolution_matches({2, 32, 9, 9},
                             {.channels = 64, .kernel = {3, 3}, .padding = {1, 1}, .groups = 2});
}

TEST(CpuConvolution, InGroupsThatShareABlock) {
  expect_convolution_matches({2, 12, 9, 8},
                             {.channels = 18, .kernel = {3, 3}, .padding = {1, 1}, .groups = 3});
}

TEST(CpuConvolution, InGroupsThatSplitABlock) {
  expect_convolution_matches({2, 40, 7, 7}, {.channels = 20, .kernel = {3, 3}, .groups = 2, .bias = false});
}

TEST(CpuConvolution, OfEachChannelAlone) {
  expect_convolution_matches({2, 32, 10, 9},
                             {.channels = 32, .kernel = {3, 3}, .padding = {1, 1}, .groups = 32});
  expect_convolution_matches(
      {2, 19, 10, 9}, {.channels = 19, .kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}, .groups = 19});
}

TEST(CpuConvolution, OfEachChannelAloneIntoSeveral) {
  expect_convolution_matches({2, 8, 6, 6},
                             {.channels = 24, .kernel = {3, 3}, .padding = {1, 1}, .groups = 8});
}

TEST(CpuConvolution, OfRandomShapes) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    RandomDraws draws(seed);
    const std::int64_t groups = draws.chance(0.3) ? draws.between(2, 4) : 1;
    const Shape x{draws.between(1, 3), groups * draws.between(1, 40 / groups), draws.between(5, 19),
                  draws.between(5, 19)};
    const ConvolutionAttributes attributes{.channels = groups * draws.between(1, 40 / groups),
                                           .kernel = {draws.between(1, 5), draws.between(1, 5)},
                                           .stride = {draws.between(1, 3), draws.between(1, 3)},
                                           .padding = {draws.between(0, 2), draws.between(0, 2)},
                                           .groups = groups,
                                           .bias = draws.chance(0.5)};
    expect_convolution_matches(x, attributes);
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
  }
}

}  // namespace
}  // namespace vdnn::testing
