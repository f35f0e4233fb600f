#include "base/counter_random.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace vdnn::testing {
namespace {

using ::testing::ElementsAre;

// The known answers that the authors of Philox publish with Random123 (kat_vectors, philox4x32 10).
TEST(Philox, GivesTheKnownAnswers) {
  EXPECT_THAT(philox({0, 0, 0, 0}, {0, 0}), ElementsAre(0x6627e8d5U, 0xe169c58dU, 0xbc57ac4cU, 0x9b00dbd8U));
  constexpr std::uint32_t kOnes = 0xffffffff;
  EXPECT_THAT(philox({kOnes, kOnes, kOnes, kOnes}, {kOnes, kOnes}),
              ElementsAre(0x408f276dU, 0x41c83b0eU, 0xa20bc7c6U, 0x6d5451fdU));
  EXPECT_THAT(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
              ElementsAre(0xd16cfe09U, 0x94fdccebU, 0x5001e420U, 0x24126ea1U));
}

TEST(CounterRandom, DrawsAreAFunctionOfNameAndPosition) {
  const CounterRandom random(7, 3, 9);
  EXPECT_EQ(random.draw(1001), CounterRandom(7, 3, 9).draws(250)[1]);
  std::set<std::uint32_t> firsts;
  for (const auto& other : {CounterRandom(7, 3, 9), CounterRandom(8, 3, 9), CounterRandom(7ULL << 32, 3, 9),
                            CounterRandom(7, 4, 9), CounterRandom(7, 3, 10)}) {
    firsts.insert(other.draw(0));
  }
  EXPECT_EQ(firsts.size(), 5);
}

TEST(CounterRandom, IsUniform) {
  const CounterRandom random(1, 2, 3);
  constexpr int kDraws = 100'000;
  double sum = 0;
  for (int i = 0; i < kDraws; ++i) {
    const float value = random.uniform(static_cast<std::uint64_t>(i));
    ASSERT_GE(value, 0.0F);
    ASSERT_LT(value, 1.0F);
    sum += value;
  }
  EXPECT_NEAR(sum / kDraws, 0.5, 0.005);
}

}  // namespace
}  // namespace vdnn::testing
