#include "plan/packer.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "support/random_draws.h"

namespace vdnn {
namespace {

using testing::RandomDraws;

std::vector<Block> random_blocks(std::uint64_t seed, std::int64_t most) {
  RandomDraws draws(seed);
  const std::int64_t count = draws.between(1, most);
  std::vector<Block> blocks;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t begin = draws.below(20);
    const std::int64_t alignment = draws.chance(0.3) ? 4096 : 64;
    blocks.push_back({.steps = {begin, begin + draws.between(1, 10)},
                      .bytes = alignment * draws.between(1, 40),
                      .alignment_bytes = alignment});
  }
  return blocks;
}

// Six blocks that meet often: few enough for all orders, hard enough that first fit is not always optimal.
std::vector<Block> six_blocks(std::uint64_t seed) {
  RandomDraws draws(seed);
  std::vector<Block> blocks(6);
  for (auto& block : blocks) {
    const std::int64_t begin = draws.below(6);
    block = {.steps = {begin, begin + draws.between(1, 4)}, .bytes = 64 * draws.between(1, 10)};
  }
  return blocks;
}

bool same_offsets(const std::vector<Block>& a, const std::vector<Block>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Block& x, const Block& y) { return x.offset_bytes == y.offset_bytes; });
}

std::int64_t lowest_free_offset(const std::vector<Block>& placed, const Block& block) {
  std::int64_t offset = 0;
  for (bool moved = true; moved;) {
    moved = false;
    for (const auto& other : placed) {
      const bool apart =
          other.offset_bytes >= offset + block.bytes || offset >= other.offset_bytes + other.bytes;
      if (apart || !other.steps.overlaps(block.steps)) continue;
      const std::int64_t end = other.offset_bytes + other.bytes;
      offset = (end + block.alignment_bytes - 1) / block.alignment_bytes * block.alignment_bytes;
      moved = true;
    }
  }
  return offset;
}

// Some order of first fit is optimal: in any packing, blocks taken by rising offset only move down.
std::int64_t optimal_extent_bytes(const std::vector<Block>& blocks) {
  std::vector<std::size_t> order(blocks.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::int64_t best = INT64_MAX;
  do {
    std::vector<Block> placed;
    for (const auto i : order) {
      Block block = blocks[i];
      block.offset_bytes = lowest_free_offset(placed, block);
      placed.push_back(block);
    }
    best = std::min(best, extent_bytes(placed));
  } while (std::next_permutation(order.begin(), order.end()));
  return best;
}

class EveryPacker : public ::testing::TestWithParam<const Packer*> {
 protected:
  static std::vector<Block> pack(std::vector<Block> blocks) {
    GetParam()->pack(blocks);
    return blocks;
  }
};

TEST_P(EveryPacker, P1NoBlocksOverlapInTimeAndSpace) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const auto blocks = pack(random_blocks(seed, 60));
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        const Interval a = {blocks[i].offset_bytes, blocks[i].offset_bytes + blocks[i].bytes};
        const Interval b = {blocks[j].offset_bytes, blocks[j].offset_bytes + blocks[j].bytes};
        EXPECT_FALSE(blocks[i].steps.overlaps(blocks[j].steps) && a.overlaps(b)) << "seed " << seed;
      }
    }
  }
}

TEST_P(EveryPacker, P9OffsetsAreAlignedAndNotNegative) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    for (const auto& block : pack(random_blocks(seed, 60))) {
      EXPECT_EQ(block.offset_bytes % block.alignment_bytes, 0);
      EXPECT_GE(block.offset_bytes, 0);
    }
  }
}

TEST_P(EveryPacker, P7IsDeterministicWhateverTheOffsetsWere) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    auto blocks = random_blocks(seed, 60);
    const auto first = pack(blocks);
    for (auto& block : blocks) block.offset_bytes = 12345;
    EXPECT_TRUE(same_offsets(first, pack(blocks))) << "seed " << seed;
  }
}

TEST_P(EveryPacker, ChangesNothingButOffsets) {
  const auto blocks = random_blocks(7, 60);
  const auto packed = pack(blocks);
  ASSERT_EQ(packed.size(), blocks.size());
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    EXPECT_EQ(packed[i].steps, blocks[i].steps);
    EXPECT_EQ(packed[i].bytes, blocks[i].bytes);
    EXPECT_EQ(packed[i].alignment_bytes, blocks[i].alignment_bytes);
  }
}

TEST_P(EveryPacker, IsNeverBelowTheLivePeak) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const auto blocks = random_blocks(seed, 60);
    EXPECT_GE(extent_bytes(pack(blocks)), live_peak_bytes(blocks)) << "seed " << seed;
  }
}

TEST_P(EveryPacker, PutsBlocksThatNeverMeetAtTheSameAddress) {
  const auto blocks = pack(
      {{.steps = {0, 2}, .bytes = 128}, {.steps = {2, 4}, .bytes = 64}, {.steps = {4, 5}, .bytes = 192}});
  for (const auto& block : blocks) EXPECT_EQ(block.offset_bytes, 0);
}

TEST_P(EveryPacker, StacksBlocksThatAreAllAliveWithoutAGap) {
  const auto blocks = pack(
      {{.steps = {0, 9}, .bytes = 128}, {.steps = {1, 5}, .bytes = 64}, {.steps = {3, 4}, .bytes = 192}});
  EXPECT_EQ(extent_bytes(blocks), 384);
}

TEST_P(EveryPacker, TakesNoBlocks) {
  EXPECT_EQ(extent_bytes(pack({})), 0);
}

// No registered packer may be far from the optimum where that can be computed.
TEST_P(EveryPacker, SmallCasesAreAtMostTwiceTheOptimum) {
  double worst = 1;
  double sum = 0;
  constexpr std::uint64_t kCases = 150;
  for (std::uint64_t seed = 0; seed < kCases; ++seed) {
    const auto blocks = six_blocks(seed);
    const double ratio =
        static_cast<double>(extent_bytes(pack(blocks))) / static_cast<double>(optimal_extent_bytes(blocks));
    EXPECT_GE(ratio, 1.0) << "seed " << seed;
    worst = std::max(worst, ratio);
    sum += ratio;
  }
  fmt::print("{}: mean {:.4f} of the optimum, worst {:.4f}\n", GetParam()->name, sum / kCases, worst);
  EXPECT_LE(worst, 2.0);
}

INSTANTIATE_TEST_SUITE_P(Registered, EveryPacker,
                         ::testing::ValuesIn(registered_packers().begin(), registered_packers().end()),
                         [](const auto& instance) {
                           std::string name(instance.param->name);
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(PackLowest, IsNeverWorseThanAnyRegisteredPackerUnlessGoodEnough) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    auto lowest = random_blocks(seed, 60);
    pack_lowest(lowest);
    for (const auto* packer : registered_packers()) {
      auto blocks = random_blocks(seed, 60);
      packer->pack(blocks);
      const std::int64_t good_enough = live_peak_bytes(blocks) + live_peak_bytes(blocks) / 64;
      EXPECT_LE(extent_bytes(lowest), std::max(extent_bytes(blocks), good_enough))
          << packer->name << " seed " << seed;
    }
  }
}

TEST(PackLowest, SmallCasesAreWithinTwoHundredthsOfTheOptimum) {
  constexpr std::size_t kCases = 500;
  std::vector<double> ratios;
  for (std::uint64_t seed = 0; seed < kCases; ++seed) {
    auto blocks = six_blocks(seed);
    const auto optimum = optimal_extent_bytes(blocks);
    pack_lowest(blocks);
    ratios.push_back(static_cast<double>(extent_bytes(blocks)) / static_cast<double>(optimum));
  }
  std::sort(ratios.begin(), ratios.end());
  fmt::print("lowest over the optimum: median {:.4f}, 99th percentile {:.4f}, worst {:.4f}\n",
             ratios[kCases / 2], ratios[kCases * 99 / 100], ratios.back());
  EXPECT_LE(ratios[kCases * 99 / 100], 1.02);
}

TEST(PackLowest, TheFirstPackerWinsATie) {
  const std::vector<Block> blocks = {{.steps = {0, 2}, .bytes = 64}, {.steps = {0, 2}, .bytes = 128}};
  auto lowest = blocks;
  pack_lowest(lowest);
  auto first = blocks;
  registered_packers().front()->pack(first);
  EXPECT_TRUE(same_offsets(lowest, first));
}

TEST(Blocks, TheLivePeakCountsNoBlockThatEndsWhereAnotherBegins) {
  const std::vector<Block> blocks = {
      {.steps = {0, 2}, .bytes = 100}, {.steps = {2, 4}, .bytes = 70}, {.steps = {1, 3}, .bytes = 50}};
  EXPECT_EQ(live_peak_bytes(blocks), 150);
}

TEST(Blocks, TheExtentIsTheHighestEnd) {
  const std::vector<Block> blocks = {{.bytes = 100, .offset_bytes = 64}, {.bytes = 10, .offset_bytes = 128}};
  EXPECT_EQ(extent_bytes(blocks), 164);
}

}  // namespace
}  // namespace vdnn
