#include "train/bilinear.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace vdnn {
namespace {

// value = (1 - high_weight) * src[low] + high_weight * src[high]
struct Tap {
  std::int64_t low = 0;
  std::int64_t high = 0;
  float high_weight = 0;
};

Tap tap_at(std::int64_t dst_index, std::int64_t src_extent, std::int64_t dst_extent) {
  const double centre = (static_cast<double>(dst_index) + 0.5) * static_cast<double>(src_extent) /
                            static_cast<double>(dst_extent) -
                        0.5;
  const double position = std::clamp(centre, 0.0, static_cast<double>(src_extent - 1));
  const auto low = static_cast<std::int64_t>(position);
  return {.low = low,
          .high = std::min(low + 1, src_extent - 1),
          .high_weight = static_cast<float>(position - static_cast<double>(low))};
}

// Source rows, resized horizontally and mapped. Rows are asked for from top to bottom, so that two suffice.
class RowWindow {
 public:
  RowWindow(const MeanOfPlanes& src, const AffineMap& map, std::int64_t dst_width)
      : src_(src), map_(map), src_row_(static_cast<std::size_t>(src.width)) {
    for (std::int64_t x = 0; x < dst_width; ++x) taps_.push_back(tap_at(x, src.width, dst_width));
    for (Row& row : rows_) row.values.resize(taps_.size());
  }

  std::pair<const float*, const float*> rows(std::int64_t low, std::int64_t high) {
    if (rows_[0].index != low) std::swap(rows_[0], rows_[1]);
    load(rows_[0], low);
    if (high == low) return {rows_[0].values.data(), rows_[0].values.data()};
    load(rows_[1], high);
    return {rows_[0].values.data(), rows_[1].values.data()};
  }

 private:
  struct Row {
    std::int64_t index = -1;
    std::vector<float> values;
  };

  void load(Row& row, std::int64_t index) {
    if (row.index == index) return;
    row.index = index;
    std::fill(src_row_.begin(), src_row_.end(), 0.0F);
    for (std::int64_t plane = 0; plane < src_.count; ++plane) {
      const std::uint8_t* bytes = src_.bytes.data() + (plane * src_.height + index) * src_.width;
      for (std::size_t x = 0; x < src_row_.size(); ++x) src_row_[x] += static_cast<float>(bytes[x]);
    }
    // Sums of bytes are exact in float, so the mean is rounded once.
    const auto count = static_cast<float>(src_.count);
    for (float& value : src_row_) value /= count;
    for (std::size_t x = 0; x < taps_.size(); ++x) {
      const float low = src_row_[static_cast<std::size_t>(taps_[x].low)];
      const float high = src_row_[static_cast<std::size_t>(taps_[x].high)];
      row.values[x] = (low + taps_[x].high_weight * (high - low)) * map_.scale + map_.offset;
    }
  }

  const MeanOfPlanes& src_;
  AffineMap map_;
  std::vector<Tap> taps_;
  std::vector<float> src_row_;
  Row rows_[2];
};

}  // namespace

void resize_bilinear(const MeanOfPlanes& src, const AffineMap& map, std::int64_t dst_height,
                     std::int64_t dst_width, std::span<float> dst) {
  RowWindow window(src, map, dst_width);
  for (std::int64_t y = 0; y < dst_height; ++y) {
    const Tap tap = tap_at(y, src.height, dst_height);
    const auto [low, high] = window.rows(tap.low, tap.high);
    float* __restrict__ row = dst.data() + y * dst_width;
    for (std::int64_t x = 0; x < dst_width; ++x) row[x] = low[x] + tap.high_weight * (high[x] - low[x]);
  }
}

}  // namespace vdnn
