#pragma once

#include <algorithm>
#include <cstdint>

namespace vdnn {

// Half-open interval [begin, end).
struct Interval {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  [[nodiscard]] constexpr std::int64_t length() const { return end - begin; }
  [[nodiscard]] constexpr bool empty() const { return end <= begin; }
  [[nodiscard]] constexpr bool contains(std::int64_t point) const { return begin <= point && point < end; }
  [[nodiscard]] constexpr bool overlaps(Interval other) const {
    return begin < other.end && other.begin < end;
  }
  friend constexpr bool operator==(Interval, Interval) = default;
};

}  // namespace vdnn
