#include <algorithm>
#include <array>
#include <map>
#include <vector>

#include "plan/packers/packers.h"

namespace vdnn {
namespace {

const std::array<const Packer*, 3> kPackers = {&kLargestFirst, &kPromoteHighest, &kBottomUpSearch};

}  // namespace

std::span<const Packer* const> registered_packers() {
  return kPackers;
}

std::int64_t extent_bytes(std::span<const Block> blocks) {
  std::int64_t extent = 0;
  for (const auto& block : blocks) extent = std::max(extent, block.offset_bytes + block.bytes);
  return extent;
}

std::int64_t live_peak_bytes(std::span<const Block> blocks) {
  std::map<std::int64_t, std::int64_t> change;
  for (const auto& block : blocks) {
    change[block.steps.begin] += block.bytes;
    change[block.steps.end] -= block.bytes;
  }
  std::int64_t live = 0;
  std::int64_t peak = 0;
  for (const auto& [step, bytes] : change) peak = std::max(peak, live += bytes);
  return peak;
}

// Within this share of the bound, no other packer is asked.
constexpr std::int64_t kGoodEnough = 64;

void pack_quickly(std::span<Block> blocks) {
  kPackers.front()->pack(blocks);
}

void pack_lowest(std::span<Block> blocks) {
  const std::int64_t bound = live_peak_bytes(blocks);
  std::vector<Block> best;
  for (const auto* packer : kPackers) {
    if (blocks.size() > packer->most_blocks) continue;
    std::vector<Block> trial(blocks.begin(), blocks.end());
    packer->pack(trial);
    if (best.empty() || extent_bytes(trial) < extent_bytes(best)) best = std::move(trial);
    if (extent_bytes(best) <= bound + bound / kGoodEnough) break;
  }
  std::copy(best.begin(), best.end(), blocks.begin());
}

}  // namespace vdnn
