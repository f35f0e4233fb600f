#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "device/cpu/onednn.h"

namespace vdnn::cpu {

// Offsets, in values, of row-major indices in a memory format: row-major itself, or with blocked axes.
// The offset of an index is a sum over its axes, so one table per axis is enough; row-major needs none.
class IndexMap {
 public:
  explicit IndexMap(const Blocking& format);

  // visit(i, offset) for the values first + i, i = 0 ... count - 1.
  template <class Visit>
  void for_each(std::int64_t first, std::int64_t count, Visit&& visit) const {
    if (offsets_.empty()) {
      for (std::int64_t i = 0; i < count; ++i) visit(i, first + i);
      return;
    }
    const std::vector<std::int64_t>& last = offsets_.back();
    const auto row_values = dims_.back();
    std::vector<std::int64_t> position(dims_.size());  // of the row: all axes but the last
    std::int64_t row = first / row_values;
    for (std::size_t axis = dims_.size() - 1; axis > 0; --axis) {
      position[axis - 1] = row % dims_[axis - 1];
      row /= dims_[axis - 1];
    }
    auto from = static_cast<std::size_t>(first % row_values);
    for (std::int64_t i = 0; i < count; from = 0, advance(position)) {
      const std::int64_t base = row_offset(position);
      const auto to = std::min(last.size(), from + static_cast<std::size_t>(count - i));
      for (std::size_t at = from; at < to; ++at, ++i) visit(i, base + last[at]);
    }
  }

  // visit(offset) for what pads the blocks of axes that are no multiple of a block.
  template <class Visit>
  void for_each_padding(Visit&& visit) const {
    for (std::size_t axis = 0; axis < padding_.size(); ++axis) {
      if (!padding_[axis].empty()) visit_padding(axis, 0, 0, visit);
    }
  }

 private:
  [[nodiscard]] std::int64_t row_offset(const std::vector<std::int64_t>& position) const {
    std::int64_t offset = 0;
    for (std::size_t axis = 0; axis + 1 < position.size(); ++axis)
      offset += offsets_[axis][static_cast<std::size_t>(position[axis])];
    return offset;
  }

  void advance(std::vector<std::int64_t>& position) const {
    for (std::size_t axis = dims_.size() - 1; axis > 0; --axis) {
      if (++position[axis - 1] < dims_[axis - 1]) return;
      position[axis - 1] = 0;
    }
  }

  // Every position whose first axis outside the tensor is `padded`: axes before it inside, later ones
  // anywhere.
  template <class Visit>
  void visit_padding(std::size_t padded, std::size_t axis, std::int64_t offset, Visit& visit) const {
    if (axis == dims_.size()) return visit(offset);
    if (axis != padded) {
      for (const auto at : offsets_[axis]) visit_padding(padded, axis + 1, offset + at, visit);
    }
    if (axis >= padded) {
      for (const auto at : padding_[axis]) visit_padding(padded, axis + 1, offset + at, visit);
    }
  }

  std::vector<std::int64_t> dims_;
  std::vector<std::vector<std::int64_t>> offsets_;  // by axis, by position
  std::vector<std::vector<std::int64_t>> padding_;  // by axis, of the positions behind the last
};

}  // namespace vdnn::cpu
