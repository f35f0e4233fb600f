#include "plan/packers/first_fit.h"

#include "vdnn/bytes.h"

namespace vdnn {
namespace {

// Placed blocks by offset, in full and by slice of time, so that a short block is held against few others.
class PlacedBlocks {
 public:
  explicit PlacedBlocks(std::span<const Block> blocks) : blocks_(blocks) {
    std::int64_t end = 1;
    for (const auto& block : blocks) end = std::max(end, block.steps.end);
    slice_steps_ = std::max<std::int64_t>(1, (end + kSlices - 1) / kSlices);
    slices_.resize(kSlices);
  }

  // Those that may overlap in time with the block, by offset. Valid until the next call.
  const std::vector<std::uint32_t>& near(const Block& block) {
    const auto [first, last] = slices_of(block);
    if (last - first >= kMostSlices || all_.size() <= kFew) return all_;
    if (first == last) return slices_[first];
    near_.clear();
    for (std::size_t slice = first; slice <= last; ++slice)
      near_.insert(near_.end(), slices_[slice].begin(), slices_[slice].end());
    std::sort(near_.begin(), near_.end(), [this](auto a, auto b) { return before(a, b); });
    near_.erase(std::unique(near_.begin(), near_.end()), near_.end());
    return near_;
  }

  void add(std::uint32_t index) {
    insert(all_, index);
    const auto [first, last] = slices_of(blocks_[index]);
    for (std::size_t slice = first; slice <= last; ++slice) insert(slices_[slice], index);
  }

 private:
  static constexpr std::int64_t kSlices = 64;
  static constexpr std::size_t kMostSlices = 6;
  static constexpr std::size_t kFew = 300;  // blocks that are looked through faster than gathered

  [[nodiscard]] bool before(std::uint32_t a, std::uint32_t b) const {
    const auto x = blocks_[a].offset_bytes;
    const auto y = blocks_[b].offset_bytes;
    return x < y || (x == y && a < b);
  }

  [[nodiscard]] std::pair<std::size_t, std::size_t> slices_of(const Block& block) const {
    const auto slice = [this](std::int64_t step) {
      return static_cast<std::size_t>(std::clamp<std::int64_t>(step / slice_steps_, 0, kSlices - 1));
    };
    return {slice(block.steps.begin), slice(std::max(block.steps.begin, block.steps.end - 1))};
  }

  void insert(std::vector<std::uint32_t>& list, std::uint32_t index) const {
    list.insert(
        std::upper_bound(list.begin(), list.end(), index, [this](auto a, auto b) { return before(a, b); }),
        index);
  }

  std::span<const Block> blocks_;
  std::int64_t slice_steps_ = 1;
  std::vector<std::uint32_t> all_;
  std::vector<std::vector<std::uint32_t>> slices_;
  std::vector<std::uint32_t> near_;
};

}  // namespace

void first_fit(std::span<Block> blocks, std::span<const std::uint32_t> order) {
  PlacedBlocks placed(blocks);
  for (const auto index : order) {
    Block& block = blocks[index];
    std::int64_t offset = 0;
    for (const auto other_index : placed.near(block)) {
      const Block& other = blocks[other_index];
      if (!block.steps.overlaps(other.steps)) continue;
      if (other.offset_bytes >= offset + block.bytes) break;
      offset = std::max(offset, round_up(other.offset_bytes + other.bytes, block.alignment_bytes));
    }
    block.offset_bytes = offset;
    placed.add(index);
  }
}

}  // namespace vdnn
