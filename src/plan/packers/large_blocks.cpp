#include "plan/packers/large_blocks.h"

namespace vdnn {

LargeBlocks::LargeBlocks(std::span<const Block> blocks) : bound_bytes(live_peak_bytes(blocks)) {
  const auto order = block_order(blocks, [](const Block& a, const Block& b) { return a.bytes > b.bytes; });
  for (const auto i : order) (blocks[i].bytes >= bound_bytes / kSmallShare ? large : small).push_back(i);
}

void LargeBlocks::place(std::span<Block> blocks, std::vector<std::uint32_t> large_order) const {
  large_order.insert(large_order.end(), small.begin(), small.end());
  first_fit(blocks, large_order);
}

}  // namespace vdnn
