#pragma once

#include <cstdint>
#include <vector>

namespace vdnn {

// Bytes by position, with additions to ranges and questions about ranges in logarithmic time (a segment tree
// with pending additions). Ranges are half open.
class ByteProfile {
 public:
  explicit ByteProfile(const std::vector<std::int64_t>& bytes);

  void add(std::int32_t begin, std::int32_t end, std::int64_t bytes);
  [[nodiscard]] std::int64_t at(std::int32_t position) const;
  [[nodiscard]] std::int64_t most(std::int32_t begin, std::int32_t end) const;  // 0 for an empty range

  // The first position of the range with more than the limit, its end where there is none; and one past the
  // last such position, its begin where there is none.
  [[nodiscard]] std::int32_t first_above(std::int32_t begin, std::int32_t end, std::int64_t limit) const;
  [[nodiscard]] std::int32_t past_last_above(std::int32_t begin, std::int32_t end, std::int64_t limit) const;

  // What a relief of at most `cap` at every position of the range is worth: the sum of the bytes above the
  // limit, at each position no more than the cap. Logarithmic but for positions whose neighbours are on the
  // other side of the limit or the cap.
  [[nodiscard]] double clipped_sum(std::int32_t begin, std::int32_t end, std::int64_t limit,
                                   std::int64_t cap) const;

 private:
  struct Node {
    std::int64_t least = 0;
    std::int64_t most = 0;
    std::int64_t sum = 0;
    std::int64_t pending = 0;  // added to all of the node, not yet to its children
  };
  struct Span {
    std::size_t node;
    std::int32_t begin;
    std::int32_t end;
    [[nodiscard]] Span left() const { return {2 * node, begin, begin + (end - begin) / 2}; }
    [[nodiscard]] Span right() const { return {2 * node + 1, begin + (end - begin) / 2, end}; }
  };

  void build(Span span, const std::vector<std::int64_t>& bytes);
  void add(Span span, std::int32_t begin, std::int32_t end, std::int64_t bytes);
  [[nodiscard]] std::int64_t most(Span span, std::int32_t begin, std::int32_t end) const;
  [[nodiscard]] std::int32_t first_above(Span span, std::int32_t begin, std::int32_t end,
                                         std::int64_t limit) const;
  [[nodiscard]] std::int32_t past_last_above(Span span, std::int32_t begin, std::int32_t end,
                                             std::int64_t limit) const;
  [[nodiscard]] double clipped_sum(Span span, std::int32_t begin, std::int32_t end, std::int64_t limit,
                                   std::int64_t cap) const;
  [[nodiscard]] Span root() const { return {1, 0, size_}; }

  std::int32_t size_;
  std::vector<Node> nodes_;
};

}  // namespace vdnn
