#include "plan/packers/first_fit.h"

#include "vdnn/bytes.h"

namespace vdnn {

void first_fit(std::span<Block> blocks, std::span<const std::uint32_t> order) {
  std::vector<std::uint32_t> placed;  // by offset
  placed.reserve(blocks.size());
  for (const auto index : order) {
    Block& block = blocks[index];
    std::int64_t offset = 0;
    for (const auto other_index : placed) {
      const Block& other = blocks[other_index];
      if (!block.steps.overlaps(other.steps)) continue;
      if (other.offset_bytes >= offset + block.bytes) break;
      offset = std::max(offset, round_up(other.offset_bytes + other.bytes, block.alignment_bytes));
    }
    block.offset_bytes = offset;
    const auto at = std::upper_bound(placed.begin(), placed.end(), index, [&](auto a, auto b) {
      return blocks[a].offset_bytes < blocks[b].offset_bytes;
    });
    placed.insert(at, index);
  }
}

}  // namespace vdnn
