#include <algorithm>
#include <array>
#include <numeric>

#include "plan/packers/large_blocks.h"
#include "plan/packers/packers.h"
#include "vdnn/bytes.h"

namespace vdnn {
namespace {

// Depth-first search for a packing below a ceiling, blocks by rising address, each resting on those before.
// It turns back where some moment's lowest free address and what must still be placed there exceed the
// ceiling. The pruning follows Moffitt, "MiniMalloc: A Lightweight Memory Allocator for Hardware-Accelerated
// Machine Learning", ASPLOS 2023.
class BottomUp {
 public:
  BottomUp(std::span<const Block> blocks, const LargeBlocks& parts)
      : blocks_(blocks), ids_(parts.large), count_(parts.large.size()) {
    find_sections();
    meets_.resize(count_);
    for (std::size_t i = 0; i < count_; ++i) {
      for (std::size_t j = 0; j < count_; ++j) {
        if (i != j && block(i).steps.overlaps(block(j).steps)) meets_[i].push_back(j);
      }
    }
  }

  static constexpr std::size_t kOrders = 3;

  // Blocks by rising address; empty where the visits allowed found none.
  std::vector<std::uint32_t> run(std::int64_t ceiling_bytes, std::size_t order, std::size_t visits) {
    ceiling_ = ceiling_bytes;
    visits_ = visits;
    floor_.assign(sections_, 0);
    left_ = sum_;
    offset_.assign(count_, 0);
    placed_.assign(count_, false);
    done_.clear();
    rank(order);
    if (!search(0)) return {};
    std::vector<std::uint32_t> result;
    for (const auto i : done_) result.push_back(ids_[i]);
    return result;
  }

 private:
  [[nodiscard]] const Block& block(std::size_t i) const { return blocks_[ids_[i]]; }
  [[nodiscard]] std::int64_t height(std::size_t i) const {
    return round_up(block(i).bytes, block(i).alignment_bytes);
  }
  // Time from one begin or end to the next, in which the same blocks are alive.
  void find_sections() {
    std::vector<std::int64_t> times;
    for (std::size_t i = 0; i < count_; ++i) {
      times.push_back(block(i).steps.begin);
      times.push_back(block(i).steps.end);
    }
    std::sort(times.begin(), times.end());
    times.erase(std::unique(times.begin(), times.end()), times.end());
    sections_ = times.empty() ? 0 : times.size() - 1;
    sum_.assign(sections_, 0);
    const auto section = [&](std::int64_t time) {
      return static_cast<std::size_t>(std::lower_bound(times.begin(), times.end(), time) - times.begin());
    };
    for (std::size_t i = 0; i < count_; ++i) {
      first_.push_back(section(block(i).steps.begin));
      end_.push_back(section(block(i).steps.end));
      for (auto s = first_[i]; s < end_[i]; ++s) sum_[s] += height(i);
    }
  }

  // Which of several blocks at one address goes first.
  void rank(std::size_t order) {
    rank_.resize(count_);
    std::iota(rank_.begin(), rank_.end(), 0);
    std::vector<std::array<double, 2>> keys(count_);
    for (std::size_t i = 0; i < count_; ++i) {
      const auto wide = static_cast<double>(end_[i] - first_[i]);
      const double area = wide * static_cast<double>(height(i));
      std::int64_t most = 0;
      for (auto s = first_[i]; s < end_[i]; ++s) most = std::max(most, sum_[s]);
      if (order == 0) keys[i] = {wide, area};
      if (order == 1) keys[i] = {static_cast<double>(most), wide};
      if (order == 2) keys[i] = {area, wide};
    }
    std::stable_sort(rank_.begin(), rank_.end(), [&](auto a, auto b) { return keys[a] > keys[b]; });
  }

  // What may come next: nothing that another block would fit below, nothing below what is placed already.
  [[nodiscard]] std::vector<std::size_t> choices(std::int64_t lowest) const {
    std::int64_t least_top = INT64_MAX;
    for (const auto i : rank_) {
      if (!placed_[i]) least_top = std::min(least_top, std::max(offset_[i], lowest) + height(i));
    }
    std::vector<std::size_t> all;
    for (const auto i : rank_) {
      if (!placed_[i] && offset_[i] >= lowest && offset_[i] < least_top) all.push_back(i);
    }
    std::stable_sort(all.begin(), all.end(), [&](auto a, auto b) { return offset_[a] < offset_[b]; });
    return all;
  }

  bool search(std::int64_t lowest) {
    if (done_.size() == count_) return true;
    if (visits_ == 0) return false;
    --visits_;
    for (const auto i : choices(lowest)) {
      const std::size_t raised_before = raised_.size();
      const std::size_t floors_before = floors_.size();
      place(i);
      if (fits(offset_[i]) && search(offset_[i])) return true;
      take_back(i, raised_before, floors_before);
      if (visits_ == 0) return false;
    }
    return false;
  }

  void place(std::size_t i) {
    placed_[i] = true;
    done_.push_back(i);
    const std::int64_t top = offset_[i] + height(i);
    for (auto s = first_[i]; s < end_[i]; ++s) {
      floors_.push_back(floor_[s]);
      floor_[s] = top;
      left_[s] -= height(i);
    }
    for (const auto j : meets_[i]) {
      if (placed_[j] || offset_[j] >= top) continue;
      raised_.emplace_back(j, offset_[j]);
      offset_[j] = round_up(top, block(j).alignment_bytes);
    }
  }

  void take_back(std::size_t i, std::size_t raised_before, std::size_t floors_before) {
    for (; raised_.size() > raised_before; raised_.pop_back())
      offset_[raised_.back().first] = raised_.back().second;
    for (auto s = end_[i]; s-- > first_[i]; floors_.pop_back()) {
      floor_[s] = floors_.back();
      left_[s] += height(i);
    }
    floors_.resize(floors_before);
    done_.pop_back();
    placed_[i] = false;
  }

  [[nodiscard]] bool fits(std::int64_t lowest) const {
    for (std::size_t s = 0; s < sections_; ++s) {
      if (left_[s] > 0 && std::max(floor_[s], lowest) + left_[s] > ceiling_) return false;
    }
    return true;
  }

  std::span<const Block> blocks_;
  std::vector<std::uint32_t> ids_;
  std::size_t count_;
  std::size_t sections_ = 0;
  std::vector<std::size_t> first_;  // section, by block
  std::vector<std::size_t> end_;
  std::vector<std::int64_t> sum_;  // by section: of all blocks
  std::vector<std::vector<std::size_t>> meets_;
  std::vector<std::size_t> rank_;

  std::int64_t ceiling_ = 0;
  std::size_t visits_ = 0;
  std::vector<std::int64_t> floor_;   // by section: top of what is placed
  std::vector<std::int64_t> left_;    // by section: of what is not
  std::vector<std::int64_t> offset_;  // by block: where it rests now
  std::vector<bool> placed_;
  std::vector<std::size_t> done_;                             // in order
  std::vector<std::pair<std::size_t, std::int64_t>> raised_;  // to take back
  std::vector<std::int64_t> floors_;                          // to take back
};

void pack(std::span<Block> blocks) {
  constexpr std::size_t kMostLargeBlocks = 120;
  constexpr std::size_t kVisitsPerBlock = 10;
  const LargeBlocks parts(blocks);
  if (!parts.large.empty() && parts.large.size() <= kMostLargeBlocks) {
    BottomUp search(blocks, parts);
    for (const std::int64_t above : {256, 64, 32}) {  // a share of the live peak
      for (std::size_t order = 0; order < BottomUp::kOrders; ++order) {
        const auto found = search.run(parts.bound_bytes + parts.bound_bytes / above, order,
                                      kVisitsPerBlock * parts.large.size());
        if (!found.empty()) return parts.place(blocks, found);
      }
    }
  }
  parts.place(blocks, parts.large);
}

}  // namespace

const Packer kBottomUpSearch = {"bottom-up-search", "depth-first search by rising address", 250, pack};

}  // namespace vdnn
