#include "plan/far_buffers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace vdnn::testing {
namespace {

using ::testing::ElementsAre;

// Four buffers of 100 bytes, away for 10, 30 and 20 and, twice, for 40.
class FarBuffers : public ::testing::Test {
 protected:
  FarBuffers() {
    for (const char* name : {"a", "b", "c", "twice"}) {
      program_.buffers.push_back({.name = name, .bytes = 100, .alignment_bytes = 1});
    }
    for (const std::size_t buffer : {0, 1, 2, 3, 3}) movements_.push_back({.buffer = BufferId(buffer)});
  }

  [[nodiscard]] std::vector<bool> choose(std::int64_t near_capacity_bytes) const {
    return choose_far_buffers(program_, movements_, near_capacity_bytes, [](const Movement& movement) {
      constexpr std::array<double, 4> kAway = {10, 30, 20, 40};
      return kAway[movement.buffer.index()];
    });
  }

  Program program_;
  std::vector<Movement> movements_;
};

TEST_F(FarBuffers, NoneWhereTheNearTierHoldsAll) {
  EXPECT_THAT(choose(400), ElementsAre(false, false, false, false));
}

TEST_F(FarBuffers, TheLongestAwayGoFirst) {
  EXPECT_THAT(choose(399), ElementsAre(false, true, false, false));
  EXPECT_THAT(choose(200), ElementsAre(false, true, true, false));
}

TEST_F(FarBuffers, WhatIsCopiedMoreOftenGoesLast) {
  EXPECT_THAT(choose(100), ElementsAre(true, true, true, false));
  EXPECT_THAT(choose(99), ElementsAre(true, true, true, true));
}

// Its value is in the tier already: half the copies.
TEST_F(FarBuffers, WhatIsOnlyReadBackGoesBeforeWhatIsAlsoCopiedOut) {
  movements_[0].copies_out = false;
  EXPECT_THAT(choose(399), ElementsAre(true, false, false, false));
}

TEST_F(FarBuffers, OfWhatDoesNotMoveThereIsNothingToChoose) {
  movements_.resize(1);
  EXPECT_THAT(choose(0), ElementsAre(true, false, false, false));
}

}  // namespace
}  // namespace vdnn::testing
