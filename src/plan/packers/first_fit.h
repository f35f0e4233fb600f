#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plan/packer.h"

namespace vdnn {

// Places blocks in the given order, each at the lowest address that is free during all of its steps. Returns
// their extent; stops at the first block that goes above the limit.
// O(n^2 log n) in the number of blocks that overlap in time.
std::int64_t first_fit(std::span<Block> blocks, std::span<const std::uint32_t> order,
                       std::int64_t limit_bytes = INT64_MAX);

// 0, 1, ..., n-1 sorted by `before`, of equals those that begin first, then by position, so that orders are
// the same everywhere. Blocks of one size in order of their beginnings need no more room than is live
// (interval graphs).
template <class Before>
std::vector<std::uint32_t> block_order(std::span<const Block> blocks, Before&& before);

}  // namespace vdnn

#include <algorithm>
#include <numeric>

template <class Before>
std::vector<std::uint32_t> vdnn::block_order(std::span<const Block> blocks, Before&& before) {
  std::vector<std::uint32_t> order(blocks.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(),
                   [&](auto a, auto b) { return blocks[a].steps.begin < blocks[b].steps.begin; });
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return before(blocks[a], blocks[b]); });
  return order;
}
