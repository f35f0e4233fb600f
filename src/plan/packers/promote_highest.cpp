#include <algorithm>
#include <random>

#include "plan/packers/large_blocks.h"
#include "plan/packers/packers.h"

namespace vdnn {
namespace {

// First fit costs up to the square of the blocks, so large problems get fewer attempts.
std::size_t attempts(std::size_t blocks) {
  constexpr std::size_t kMost = 100;
  constexpr std::size_t kBlocksInAll = 20'000;
  return std::clamp<std::size_t>(kBlocksInAll / std::max<std::size_t>(1, blocks), 4, kMost);
}

// The best order of the large blocks on the way.
std::vector<std::uint32_t> promote_highest_order(std::span<Block> blocks, const LargeBlocks& parts) {
  std::vector<std::uint32_t> order = parts.large;
  std::vector<std::uint32_t> best = order;
  std::int64_t least = INT64_MAX;
  for (std::size_t attempt = 0; attempt < attempts(order.size()) && !parts.is_done(least); ++attempt) {
    if (const std::int64_t extent = first_fit(blocks, order); extent < least) {
      least = extent;
      best = order;
    }
    // What sticks out at the top goes first next time.
    const auto highest = std::max_element(order.begin(), order.end(), [&](auto a, auto b) {
      return blocks[a].offset_bytes + blocks[a].bytes < blocks[b].offset_bytes + blocks[b].bytes;
    });
    if (highest == order.end()) break;
    std::rotate(order.begin(), highest, highest + 1);
  }
  return best;
}

// Local search over orders of first fit, from there on: of the stacks of blocks that reach highest, a block
// at the top or below it goes ahead of one that it meets. What is not higher than before is kept.
class StackSearch {
 public:
  StackSearch(std::span<Block> blocks, const LargeBlocks& parts)
      : blocks_(blocks), parts_(parts), order_(promote_highest_order(blocks, parts)) {
    extent_ = first_fit(blocks_, order_);
  }

  std::vector<std::uint32_t> run() {
    for (int trial = 0; trial < trials(order_.size()) && !parts_.is_done(extent_); ++trial) {
      std::vector<std::uint32_t> next = order_;
      if (!reorder(next)) continue;
      // A trial that fails leaves places behind that are not those of the order.
      const std::vector<std::int64_t> before = offsets();
      const std::int64_t extent = first_fit(blocks_, next, extent_);
      if (extent <= extent_) {
        extent_ = extent;
        order_ = std::move(next);
      } else {
        for (std::size_t i = 0; i < order_.size(); ++i) blocks_[order_[i]].offset_bytes = before[i];
      }
    }
    return order_;
  }

 private:
  static int trials(std::size_t blocks) {
    constexpr std::size_t kMost = 1000;
    constexpr std::size_t kSquaresInAll = 20'000'000;
    constexpr std::size_t kTooMany = 1000;
    if (blocks < 2 || blocks > kTooMany) return 0;
    return static_cast<int>(std::min(kMost, kSquaresInAll / (blocks * blocks)));
  }

  [[nodiscard]] std::vector<std::int64_t> offsets() const {
    std::vector<std::int64_t> all;
    for (const auto i : order_) all.push_back(blocks_[i].offset_bytes);
    return all;
  }
  [[nodiscard]] std::int64_t top(std::uint32_t i) const { return blocks_[i].offset_bytes + blocks_[i].bytes; }
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(random_()) % n; }

  // Positions ahead of this one of blocks that its block meets, and those that it rests on alone.
  [[nodiscard]] std::vector<std::size_t> met_ahead(std::size_t position, bool rests_on) const {
    std::vector<std::size_t> met;
    const Block& block = blocks_[order_[position]];
    for (std::size_t p = 0; p < position; ++p) {
      const Block& other = blocks_[order_[p]];
      if (other.steps.overlaps(block.steps) && (!rests_on || top(order_[p]) == block.offset_bytes))
        met.push_back(p);
    }
    return met;
  }

  bool reorder(std::vector<std::uint32_t>& order) {
    constexpr std::int64_t kNearTheTop = 100;
    constexpr std::size_t kMostDown = 4;
    std::vector<std::size_t> high;
    for (std::size_t p = 1; p < order_.size(); ++p) {
      if (top(order_[p]) > std::max(parts_.bound_bytes, extent_ - extent_ / kNearTheTop)) high.push_back(p);
    }
    if (high.empty()) return false;
    std::size_t position = high[below(high.size())];
    for (std::size_t down = below(kMostDown); down > 0; --down) {
      const auto support = met_ahead(position, true);
      if (support.empty()) break;
      position = support[below(support.size())];
    }
    const auto ahead = met_ahead(position, false);
    if (ahead.empty()) return false;
    const auto at = [&](std::size_t p) { return order.begin() + static_cast<std::ptrdiff_t>(p); };
    std::rotate(at(ahead[below(ahead.size())]), at(position), at(position + 1));
    return true;
  }

  std::span<Block> blocks_;
  const LargeBlocks& parts_;
  std::vector<std::uint32_t> order_;  // its places are those in the blocks
  std::int64_t extent_ = 0;
  std::mt19937 random_{1};  // NOLINT: the same for the same blocks (P7)
};

void pack(std::span<Block> blocks) {
  const LargeBlocks parts(blocks);
  parts.place(blocks, StackSearch(blocks, parts).run());
}

}  // namespace

const Packer kPromoteHighest = {
    "promote-highest",
    "first fit again and again with what stuck out highest first, then with exchanges in the highest stacks",
    SIZE_MAX, pack};

}  // namespace vdnn
