#include <algorithm>

#include "plan/packers/first_fit.h"
#include "plan/packers/packers.h"

namespace vdnn {
namespace {

// Smaller blocks than this share of the live peak find a place between the others.
constexpr std::int64_t kSmallShare = 256;

// First fit costs up to the square of the blocks, so large problems get fewer attempts.
std::size_t attempts(std::size_t blocks) {
  constexpr std::size_t kMost = 200;
  constexpr std::size_t kBlocksInAll = 30'000;
  return std::clamp<std::size_t>(kBlocksInAll / std::max<std::size_t>(1, blocks), 4, kMost);
}

// Packs the blocks named by `order` alone; returns their extent.
std::int64_t extent_of(std::span<Block> blocks, std::span<const std::uint32_t> order) {
  first_fit(blocks, order);
  std::int64_t extent = 0;
  for (const auto i : order) extent = std::max(extent, blocks[i].offset_bytes + blocks[i].bytes);
  return extent;
}

void pack(std::span<Block> blocks) {
  std::vector<std::uint32_t> order =
      block_order(blocks, [](const Block& a, const Block& b) { return a.bytes > b.bytes; });
  const std::int64_t bound = live_peak_bytes(blocks);
  const auto small =
      std::find_if(order.begin(), order.end(), [&](auto i) { return blocks[i].bytes < bound / kSmallShare; });
  std::vector<std::uint32_t> large(order.begin(), small);
  std::vector<std::uint32_t> best = large;
  std::int64_t least = INT64_MAX;
  for (std::size_t attempt = 0; attempt < attempts(large.size()) && least > bound + bound / kSmallShare;
       ++attempt) {
    if (const std::int64_t extent = extent_of(blocks, large); extent < least) {
      least = extent;
      best = large;
    }
    // What sticks out at the top goes first next time.
    const auto highest = std::max_element(large.begin(), large.end(), [&](auto a, auto b) {
      return blocks[a].offset_bytes + blocks[a].bytes < blocks[b].offset_bytes + blocks[b].bytes;
    });
    if (highest == large.end()) break;
    std::rotate(large.begin(), highest, highest + 1);
  }
  std::copy(best.begin(), best.end(), order.begin());
  first_fit(blocks, order);
}

}  // namespace

const Packer kPromoteHighest = {
    "promote-highest", "first fit again and again, each time with the block that stuck out highest first",
    pack};

}  // namespace vdnn
