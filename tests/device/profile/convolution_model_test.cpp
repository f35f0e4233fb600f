#include "device/profile/convolution_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

// The formulas of docs/profiles.md, worked by hand.
namespace vdnn::testing {
namespace {

// Two images, 4 to 8 channels, 3 x 3 on 30 x 30.
ConvolutionKernel small() {
  return {.x = {2, 4, 30, 30},
          .y = {2, 8, 30, 30},
          .attributes = {.channels = 8, .kernel = {3, 3}, .padding = {1, 1}}};
}

constexpr double kDirectFlops = 2.0 * 2 * 8 * 900 * 36;

TEST(ConvolutionModel, ImplicitGemmNeedsNoWorkspace) {
  const auto need = convolution_need("implicit_gemm", small()).value();
  EXPECT_EQ(need.workspace_bytes, 0);
  EXPECT_DOUBLE_EQ(need.flops, kDirectFlops);
  EXPECT_DOUBLE_EQ(need.workspace_traffic_bytes, 0);
}

TEST(ConvolutionModel, PrecomputedIndicesAreOnePerRowAndColumn) {
  const auto need = convolution_need("implicit_precomp_gemm", small()).value();
  EXPECT_EQ(need.workspace_bytes, 4 * (36 + 900));
  EXPECT_DOUBLE_EQ(need.flops, kDirectFlops);
}

TEST(ConvolutionModel, GemmLowersOneImageAtATime) {
  const auto need = convolution_need("gemm", small()).value();
  EXPECT_EQ(need.workspace_bytes, 4 * 36 * 900);
  EXPECT_DOUBLE_EQ(need.workspace_traffic_bytes, 2.0 * 2 * 4 * 36 * 900);
  ConvolutionKernel backward = small();
  backward.forward = false;
  EXPECT_FALSE(convolution_need("gemm", backward).has_value());
}

// 30 + 2 pads to 32: a spectrum of 32 x 17 of 8 input, 32 filter and 16 output maps.
TEST(ConvolutionModel, FftTransformsWholeMaps) {
  const auto need = convolution_need("fft", small()).value();
  EXPECT_EQ(need.workspace_bytes, 8 * 32 * 17 * (8 + 32 + 16));
  EXPECT_DOUBLE_EQ(need.flops, 8.0 * 32 * 17 * 2 * 32 + 2.5 * 1024 * 10 * (8 + 32 + 16));
}

TEST(ConvolutionModel, FftEndsAtMapsOf256) {
  ConvolutionKernel large = small();
  large.x = {2, 4, 254, 254};
  EXPECT_TRUE(convolution_need("fft", large).has_value());
  large.x = {2, 4, 255, 255};
  EXPECT_FALSE(convolution_need("fft", large).has_value());
}

// 30 outputs a side fit in one tile, 31 need four.
TEST(ConvolutionModel, TiledFftCountsTiles) {
  EXPECT_EQ(convolution_need("fft_tiling", small())->workspace_bytes, 8 * 32 * 17 * (8 + 32 + 16));
  ConvolutionKernel larger = small();
  larger.y = {2, 8, 31, 31};
  EXPECT_EQ(convolution_need("fft_tiling", larger)->workspace_bytes, 8 * 32 * 17 * (4 * 8 + 32 + 4 * 16));
}

TEST(ConvolutionModel, WinogradKeepsTransformedFiltersAndMultipliesLess) {
  const auto need = convolution_need("winograd", small()).value();
  EXPECT_EQ(need.workspace_bytes, 4 * 16 * 4 * 8);
  const double tiles = 2 * 15 * 15;
  EXPECT_DOUBLE_EQ(need.flops, 2 * 16 * tiles * 32 + tiles * (32 * 4 + 24 * 8) + 28 * 32);
  EXPECT_NEAR(kDirectFlops / (2 * 16 * tiles * 32), 2.25, 1e-12);
}

TEST(ConvolutionModel, OnlyGemmTakesStridesGroupsAndOtherWindows) {
  ConvolutionKernel strided = small();
  strided.attributes.stride = {2, 2};
  ConvolutionKernel grouped = small();
  grouped.attributes.groups = 2;
  ConvolutionKernel dilated = small();
  dilated.attributes.dilation = {2, 2};
  for (const auto& kernel : {strided, grouped, dilated}) {
    for (const char* family : {"fft", "fft_tiling", "winograd"})
      EXPECT_FALSE(convolution_need(family, kernel).has_value()) << family;
    for (const char* family : {"implicit_gemm", "implicit_precomp_gemm", "gemm"})
      EXPECT_TRUE(convolution_need(family, kernel).has_value()) << family;
  }
  ConvolutionKernel five = small();
  five.attributes.kernel = {5, 5};
  EXPECT_FALSE(convolution_need("winograd", five).has_value());
  EXPECT_TRUE(convolution_need("fft", five).has_value());
  EXPECT_DOUBLE_EQ(convolution_need("gemm", grouped)->flops, kDirectFlops / 2);
}

TEST(ConvolutionModel, EveryFamilyIsKnownByItsName) {
  for (const auto& family : convolution_families()) EXPECT_TRUE(convolution_need(family, small())) << family;
  EXPECT_FALSE(convolution_need("direct", small()).has_value());
}

}  // namespace
}  // namespace vdnn::testing
