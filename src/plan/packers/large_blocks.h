#pragma once

#include <vector>

#include "plan/packers/first_fit.h"

namespace vdnn {

// Blocks of at least this share of the live peak are worth a search; smaller ones find a place between them.
inline constexpr std::int64_t kSmallShare = 256;
// An extent within this share of the live peak ends a search.
inline constexpr std::int64_t kDoneShare = 256;

// Positions of the large blocks, largest first, and of the small ones behind them.
struct LargeBlocks {
  explicit LargeBlocks(std::span<const Block> blocks);

  std::vector<std::uint32_t> large;
  std::vector<std::uint32_t> small;
  std::int64_t bound_bytes = 0;  // the live peak of all

  [[nodiscard]] bool is_done(std::int64_t extent) const {
    return extent <= bound_bytes + bound_bytes / kDoneShare;
  }
  // All blocks by first fit, the large ones in this order.
  void place(std::span<Block> blocks, std::vector<std::uint32_t> large_order) const;
};

}  // namespace vdnn
