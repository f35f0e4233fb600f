#include "plan/packers/first_fit.h"

#include "vdnn/bytes.h"

namespace vdnn {
namespace {

// A block that has its place. By value, so that going through many is going through memory in order.
struct Placed {
  std::int64_t bottom = 0;
  std::int64_t top = 0;
  Interval steps;
};

bool is_lower(const Placed& a, const Placed& b) {
  return a.bottom < b.bottom || (a.bottom == b.bottom && a.steps.begin < b.steps.begin);
}

// Few blocks: all in order of address. Many: by slice of time, gathered and sorted for each that asks.
class PlacedBlocks {
 public:
  PlacedBlocks(std::size_t count, std::span<const Block> blocks) : sliced_(count > kFew) {
    if (!sliced_) {
      all_.reserve(count);
      return;
    }
    std::int64_t end = 1;
    for (const auto& block : blocks) end = std::max(end, block.steps.end);
    slice_steps_ = std::max<std::int64_t>(1, (end + kSlices - 1) / kSlices);
    slices_.resize(kSlices);
  }

  // The lowest address at which the block is free of all that overlap with its steps.
  [[nodiscard]] std::int64_t lowest_free(const Block& block) {
    std::int64_t offset = 0;
    const auto goes_on = [&](std::int64_t bottom, std::int64_t top, bool overlaps) {
      if (bottom >= offset + block.bytes) return false;
      if (overlaps && top > offset) offset = round_up(top, block.alignment_bytes);
      return true;
    };
    if (!sliced_) {
      for (const auto& other : all_) {
        if (!goes_on(other.bottom, other.top, block.steps.overlaps(other.steps))) break;
      }
      return offset;
    }
    for (const auto& [bottom, top] : in_the_way(block.steps)) {
      if (!goes_on(bottom, top, true)) break;
    }
    return offset;
  }
  void add(const Placed& placed) {
    if (!sliced_) {
      all_.insert(std::upper_bound(all_.begin(), all_.end(), placed, is_lower), placed);
      return;
    }
    const std::size_t last = slice_of(std::max(placed.steps.begin, placed.steps.end - 1));
    for (std::size_t slice = slice_of(placed.steps.begin); slice <= last; ++slice)
      slices_[slice].push_back(placed);
  }

 private:
  struct Range {
    std::int64_t bottom = 0;
    std::int64_t top = 0;
  };

  // Addresses of all that overlap with the steps, in order. Valid until the next call.
  const std::vector<Range>& in_the_way(const Interval& steps) {
    gathered_.clear();
    const std::size_t first = slice_of(steps.begin);
    const std::size_t last = slice_of(std::max(steps.begin, steps.end - 1));
    for (std::size_t slice = first; slice <= last; ++slice) {
      for (const auto& placed : slices_[slice]) {
        // Taken in the first of the slices that both are in.
        if (placed.steps.overlaps(steps) && std::max(first, slice_of(placed.steps.begin)) == slice)
          gathered_.push_back({placed.bottom, placed.top});
      }
    }
    std::sort(gathered_.begin(), gathered_.end(),
              [](const Range& a, const Range& b) { return a.bottom < b.bottom; });
    return gathered_;
  }

  static constexpr std::size_t kFew = 1000;
  static constexpr std::int64_t kSlices = 128;

  [[nodiscard]] std::size_t slice_of(std::int64_t step) const {
    return static_cast<std::size_t>(std::clamp<std::int64_t>(step / slice_steps_, 0, kSlices - 1));
  }

  bool sliced_;
  std::int64_t slice_steps_ = 1;
  std::vector<Placed> all_;
  std::vector<std::vector<Placed>> slices_;
  std::vector<Range> gathered_;
};

}  // namespace

std::int64_t first_fit(std::span<Block> blocks, std::span<const std::uint32_t> order,
                       std::int64_t limit_bytes) {
  PlacedBlocks placed(order.size(), blocks);
  std::int64_t extent = 0;
  for (const auto index : order) {
    Block& block = blocks[index];
    const std::int64_t offset = placed.lowest_free(block);
    block.offset_bytes = offset;
    placed.add({offset, offset + block.bytes, block.steps});
    extent = std::max(extent, offset + block.bytes);
    if (extent > limit_bytes) break;
  }
  return extent;
}

}  // namespace vdnn
