#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/kernel_run.h"

namespace vdnn::testing {
namespace {

using ::testing::ElementsAre;

using Values = std::vector<double>;

const Values kOneToNine = {1, 2, 3, 4, 5, 6, 7, 8, 9};

TEST(Convolution, SlidesTheKernelUnflippedAndAddsTheBias) {
  const auto out = KernelRun(OpKind::convolution, ConvolutionAttributes{.channels = 1, .kernel = {2, 2}})
                       .input({1, 1, 3, 3}, kOneToNine)
                       .input({1, 1, 2, 2}, {1, 10, 100, 1000})
                       .input({1}, {0.5})
                       .output({1, 1, 2, 2})
                       .run();
  EXPECT_THAT(out[0], ElementsAre(5421.5, 6532.5, 8754.5, 9865.5));
}

TEST(Convolution, ReadsZerosFromPaddingAndSkipsByTheStride) {
  const auto out =
      KernelRun(OpKind::convolution,
                ConvolutionAttributes{
                    .channels = 1, .kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}, .bias = false})
          .input({1, 1, 3, 3}, kOneToNine)
          .input({1, 1, 3, 3}, Values(9, 1.0))
          .output({1, 1, 2, 2})
          .run();
  EXPECT_THAT(out[0], ElementsAre(12, 16, 24, 28));  // the four corners' 2x2 neighbourhoods
}

TEST(Convolution, SpreadsTheKernelByTheDilation) {
  const auto out = KernelRun(OpKind::convolution,
                             ConvolutionAttributes{.channels = 1, .kernel = {2, 2}, .dilation = {2, 2}})
                       .input({1, 1, 3, 3}, kOneToNine)
                       .input({1, 1, 2, 2}, {1, 10, 100, 1000})
                       .input({1}, {0})
                       .output({1, 1, 1, 1})
                       .run();
  EXPECT_THAT(out[0], ElementsAre(9731));  // 1, 3, 7, 9
}

TEST(Convolution, KeepsGroupsApart) {
  const auto out =
      KernelRun(OpKind::convolution, ConvolutionAttributes{.channels = 4, .groups = 2, .bias = false})
          .input({1, 4, 1, 1}, {1, 2, 3, 4})
          .input({4, 2, 1, 1}, {1, 0, 0, 1, 1, 1, 1, -1})
          .output({1, 4, 1, 1})
          .run();
  EXPECT_THAT(out[0], ElementsAre(1, 2, 7, -1));
}

TEST(ConvolutionBackward, GivesWeightsTheSumOfInputTimesGradient) {
  const auto out =
      KernelRun(OpKind::convolution_backward_weights, ConvolutionAttributes{.channels = 1, .kernel = {2, 2}})
          .input({1, 1, 3, 3}, kOneToNine)
          .input({1, 1, 2, 2}, {1, 0, 0, 10})
          .output({1, 1, 2, 2})
          .output({1})
          .run();
  EXPECT_THAT(out[0], ElementsAre(51, 62, 84, 95));
  EXPECT_THAT(out[1], ElementsAre(11));
}

TEST(ConvolutionBackward, GivesDataTheKernelAtEachGradient) {
  const auto out =
      KernelRun(OpKind::convolution_backward_data, ConvolutionAttributes{.channels = 1, .kernel = {2, 2}})
          .input({1, 1, 2, 2}, {1, 2, 3, 4})
          .input({1, 1, 2, 2}, {1, 0, 0, 10})
          .output({1, 1, 3, 3})
          .run();
  EXPECT_THAT(out[0], ElementsAre(1, 2, 0, 3, 14, 20, 0, 30, 40));
}

TEST(MaxPool, KeepsTheFirstOfEqualValues) {
  const auto out = KernelRun(OpKind::max_pool, PoolingAttributes{.kernel = {2, 2}})
                       .input({1, 1, 2, 3}, {1, 4, 4, 4, 2, 4})
                       .output({1, 1, 1, 2})
                       .output({1, 1, 1, 2})
                       .run();
  EXPECT_THAT(out[0], ElementsAre(4, 4));
  EXPECT_THAT(out[1], ElementsAre(1, 0));
}

// All values are negative: zeros from padding would win.
TEST(MaxPool, NeverLetsPaddingWinAndCountsPositionsOnTheWholeWindow) {
  const auto out =
      KernelRun(OpKind::max_pool, PoolingAttributes{.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}})
          .input({1, 1, 3, 3}, {-1, -2, -3, -4, -5, -6, -7, -8, -9})
          .output({1, 1, 2, 2})
          .output({1, 1, 2, 2})
          .run();
  EXPECT_THAT(out[0], ElementsAre(-1, -2, -4, -5));
  EXPECT_THAT(out[1], ElementsAre(4, 3, 1, 0));
}

TEST(MaxPool, TakesTheWholeImageWhenGlobal) {
  const auto out = KernelRun(OpKind::max_pool, PoolingAttributes{.global = true})
                       .input({1, 2, 2, 3}, {1, 2, 9, 4, 5, 6, 3, 2, 1, 0, 7, 5})
                       .output({1, 2, 1, 1})
                       .output({1, 2, 1, 1})
                       .run();
  EXPECT_THAT(out[0], ElementsAre(9, 7));
  EXPECT_THAT(out[1], ElementsAre(2, 4));
}

TEST(MaxPoolBackward, AddsUpWhereWindowsOverlap) {
  const auto out = KernelRun(OpKind::max_pool_backward, PoolingAttributes{.kernel = {2, 2}})
                       .input({1, 1, 1, 2}, {10, 1})
                       .input({1, 1, 1, 2}, {1, 0})
                       .output({1, 1, 2, 3})
                       .run();
  EXPECT_THAT(out[0], ElementsAre(0, 11, 0, 0, 0, 0));
}

TEST(AveragePool, DividesByThePixelsWithoutPadding) {
  const auto out = KernelRun(OpKind::average_pool,
                             PoolingAttributes{.kernel = {2, 2}, .stride = {2, 2}, .padding = {1, 1}})
                       .input({1, 1, 3, 3}, kOneToNine)
                       .output({1, 1, 2, 2})
                       .run();
  EXPECT_THAT(out[0], ElementsAre(1, 2.5, 5.5, 7));
}

TEST(AveragePool, DividesByThePixelsOfAWindowThatCeilCutsOff) {
  const auto out =
      KernelRun(OpKind::average_pool, PoolingAttributes{.kernel = {2, 2}, .stride = {2, 2}, .ceil = true})
          .input({1, 1, 3, 3}, kOneToNine)
          .output({1, 1, 2, 2})
          .run();
  EXPECT_THAT(out[0], ElementsAre(3, 4.5, 7.5, 9));
}

TEST(AveragePoolBackward, SharesEachGradientAmongItsPixels) {
  const auto out = KernelRun(OpKind::average_pool_backward,
                             PoolingAttributes{.kernel = {2, 2}, .stride = {2, 2}, .ceil = true})
                       .input({1, 1, 2, 2}, {4, 6, 10, 5})
                       .output({1, 1, 3, 3})
                       .run();
  EXPECT_THAT(out[0], ElementsAre(1, 1, 3, 1, 1, 3, 5, 5, 5));
}

}  // namespace
}  // namespace vdnn::testing
