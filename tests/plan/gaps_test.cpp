#include "plan/gaps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plan/sample_network.h"

namespace vdnn::testing {
namespace {

using ::testing::IsEmpty;

class GapsOfTheSample : public ::testing::Test {
 protected:
  [[nodiscard]] std::vector<Gap> of(std::string_view name) const {
    std::vector<Gap> found;
    for (const auto& gap : gaps_.all) {
      if (program_.buffer(gap.buffer).name == name) found.push_back(gap);
    }
    return found;
  }
  [[nodiscard]] std::int32_t kernel(std::string_view op, std::string_view name) const {
    for (std::size_t k = 0; k < program_.kernels.size(); ++k) {
      if (program_.kernels[k].op == op && program_.kernels[k].name == name)
        return static_cast<std::int32_t>(k);
    }
    throw std::out_of_range(std::string(name));
  }

  Program program_ = lowered(sample_network());
  Uses uses_ = find_uses(program_, each_once(program_));
  Gaps gaps_ = find_gaps(program_, uses_, static_cast<std::int32_t>(program_.kernels.size()));
};

// conv1's map is written, rectified in place and read by conv2; then by conv2's weight gradient; then by the
// backward pass of its rectifier.
TEST_F(GapsOfTheSample, AMapHasTwoOneOfThemBehindItsLastBackwardReaderButOne) {
  const auto found = of("conv1");
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].from, kernel("convolution", "conv2"));
  EXPECT_EQ(found[0].to, kernel("convolution_backward_weights", "conv2"));
  EXPECT_EQ(found[0].final_at, kernel("relu", "relu1"));
  EXPECT_EQ(found[1].from, kernel("convolution_backward_weights", "conv2"));
  EXPECT_EQ(found[1].to, kernel("relu_backward", "relu1"));
  EXPECT_EQ(found[1].final_at, found[0].final_at);  // one copy serves both
}

TEST_F(GapsOfTheSample, WhatIsSmallOrStagedOrAResultStays) {
  EXPECT_THAT(of("conv1.weight"), IsEmpty());
  EXPECT_THAT(of("staged_images"), IsEmpty());
  for (const auto& gap : gaps_.all) EXPECT_FALSE(program_.buffer(gap.buffer).result);
}

TEST_F(GapsOfTheSample, WhatPersistsHasAGapThatGoesRound) {
  const auto kernels = static_cast<std::int32_t>(program_.kernels.size());
  const auto found = of("fc.weight");
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found.back().from, kernel("sgd_update", "fc.weight"));
  EXPECT_EQ(found.back().to, kernels + kernel("fully_connected", "fc"));
  const auto momentum = of("fc.weight.momentum");
  ASSERT_EQ(momentum.size(), 1U);
  EXPECT_EQ(momentum[0].to - momentum[0].from, kernels);
}

TEST_F(GapsOfTheSample, InsideAGapNobodyUsesTheBuffer) {
  const auto kernels = static_cast<std::int32_t>(program_.kernels.size());
  for (const auto& gap : gaps_.all) {
    EXPECT_GE(gap.to - gap.from, 2);
    for (const auto& use : uses_[gap.buffer.index()]) {
      for (const std::int32_t at : {use.launch, use.launch + kernels})
        EXPECT_FALSE(gap.from < at && at < gap.to) << program_.buffer(gap.buffer).name;
    }
  }
}

}  // namespace
}  // namespace vdnn::testing
