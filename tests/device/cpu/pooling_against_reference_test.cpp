#include "device/cpu/against_reference.h"
#include "support/random_draws.h"

namespace vdnn::testing {
namespace {

void expect_pooling_matches(const Shape& x, const PoolingAttributes& attributes) {
  expect_cpu_matches_reference(
      network_around(x, [&](GraphBuilder& b, TensorId t) { return b.max_pool("max_pool", t, attributes); }));
  expect_cpu_matches_reference(network_around(
      x, [&](GraphBuilder& b, TensorId t) { return b.average_pool("average_pool", t, attributes); }));
}

TEST(CpuPooling, OfOneImageAndOneChannel) {
  expect_pooling_matches({1, 1, 7, 5}, {.kernel = {2, 3}, .stride = {2, 1}});
}

TEST(CpuPooling, OfChannelsThatFillBlocks) {
  expect_pooling_matches({2, 32, 8, 12}, {.kernel = {2, 2}, .stride = {2, 2}});
}

TEST(CpuPooling, OfOverlappingWindows) {
  expect_pooling_matches({2, 21, 9, 9}, {.kernel = {3, 3}, .stride = {2, 2}});
}

TEST(CpuPooling, ThatLeavesLastPixelsUnread) {
  expect_pooling_matches({2, 16, 8, 10}, {.kernel = {3, 3}, .stride = {3, 4}});
}

TEST(CpuPooling, WithPadding) {
  expect_pooling_matches({2, 18, 7, 8}, {.kernel = {3, 3}, .stride = {1, 1}, .padding = {1, 1}});
}

TEST(CpuPooling, OfSizesThatAreRoundedUp) {
  expect_pooling_matches({2, 16, 8, 10}, {.kernel = {3, 3}, .stride = {2, 2}, .ceil = true});
}

TEST(CpuPooling, WithPaddingOfSizesThatAreRoundedUp) {
  expect_pooling_matches({2, 5, 8, 7}, {.kernel = {3, 4}, .stride = {3, 3}, .padding = {1, 2}, .ceil = true});
}

TEST(CpuPooling, OfWholeImages) {
  expect_pooling_matches({3, 20, 7, 5}, {.global = true});
  expect_pooling_matches({3, 2, 7, 5}, {.global = true});
}

TEST(CpuPooling, OfRandomShapes) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    RandomDraws draws(seed);
    const Shape x{draws.between(1, 3), draws.between(1, 40), draws.between(5, 19), draws.between(5, 19)};
    PoolingAttributes attributes{.kernel = {draws.between(1, 5), draws.between(1, 5)},
                                 .stride = {draws.between(1, 3), draws.between(1, 3)},
                                 .ceil = draws.chance(0.5)};
    attributes.padding = {draws.below(attributes.kernel.height), draws.below(attributes.kernel.width)};
    expect_pooling_matches(x, attributes);
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
  }
}

}  // namespace
}  // namespace vdnn::testing
