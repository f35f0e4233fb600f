#include "plan/byte_profile.h"

#include <algorithm>

namespace vdnn {

ByteProfile::ByteProfile(const std::vector<std::int64_t>& bytes)
    : size_(static_cast<std::int32_t>(bytes.size())), nodes_(4 * std::max<std::size_t>(1, bytes.size())) {
  if (size_ > 0) build(root(), bytes);
}

void ByteProfile::build(Span span, const std::vector<std::int64_t>& bytes) {
  Node& node = nodes_[span.node];
  if (span.end - span.begin == 1) {
    node.least = node.most = node.sum = bytes[static_cast<std::size_t>(span.begin)];
    return;
  }
  build(span.left(), bytes);
  build(span.right(), bytes);
  const Node& left = nodes_[span.left().node];
  const Node& right = nodes_[span.right().node];
  node = {std::min(left.least, right.least), std::max(left.most, right.most), left.sum + right.sum, 0};
}

void ByteProfile::add(std::int32_t begin, std::int32_t end, std::int64_t bytes) {
  if (begin < end) add(root(), begin, end, bytes);
}

void ByteProfile::add(Span span, std::int32_t begin, std::int32_t end, std::int64_t bytes) {
  Node& node = nodes_[span.node];
  if (begin <= span.begin && span.end <= end) {
    node.least += bytes;
    node.most += bytes;
    node.sum += bytes * (span.end - span.begin);
    node.pending += bytes;
    return;
  }
  const Span left_span = span.left();
  const Span right_span = span.right();
  if (begin < left_span.end) add(left_span, begin, end, bytes);
  if (right_span.begin < end) add(right_span, begin, end, bytes);
  const Node& left = nodes_[left_span.node];
  const Node& right = nodes_[right_span.node];
  node.least = std::min(left.least, right.least) + node.pending;
  node.most = std::max(left.most, right.most) + node.pending;
  node.sum = left.sum + right.sum + node.pending * (span.end - span.begin);
}

std::int64_t ByteProfile::at(std::int32_t position) const {
  return most(position, position + 1);
}

std::int64_t ByteProfile::most(std::int32_t begin, std::int32_t end) const {
  return begin < end ? most(root(), begin, end) : 0;
}

std::int64_t ByteProfile::most(Span span, std::int32_t begin, std::int32_t end) const {
  const Node& node = nodes_[span.node];
  if (begin <= span.begin && span.end <= end) return node.most;
  const Span left = span.left();
  const Span right = span.right();
  std::int64_t found = INT64_MIN / 2;
  if (begin < left.end) found = most(left, begin, end);
  if (right.begin < end) found = std::max(found, most(right, begin, end));
  return found + node.pending;
}

std::int32_t ByteProfile::first_above(std::int32_t begin, std::int32_t end, std::int64_t limit) const {
  return begin < end ? std::min(end, first_above(root(), begin, end, limit)) : end;
}

// INT32_MAX: none in the span.
std::int32_t ByteProfile::first_above(Span span, std::int32_t begin, std::int32_t end,
                                      std::int64_t limit) const {
  const Node& node = nodes_[span.node];
  if (node.most <= limit) return INT32_MAX;
  if (span.end - span.begin == 1) return span.begin;
  const Span left = span.left();
  const Span right = span.right();
  std::int32_t found = INT32_MAX;
  if (begin < left.end) found = first_above(left, begin, end, limit - node.pending);
  if (found == INT32_MAX && right.begin < end) found = first_above(right, begin, end, limit - node.pending);
  return found;
}

std::int32_t ByteProfile::past_last_above(std::int32_t begin, std::int32_t end, std::int64_t limit) const {
  return begin < end ? std::max(begin, past_last_above(root(), begin, end, limit)) : begin;
}

// INT32_MIN: none in the span.
std::int32_t ByteProfile::past_last_above(Span span, std::int32_t begin, std::int32_t end,
                                          std::int64_t limit) const {
  const Node& node = nodes_[span.node];
  if (node.most <= limit) return INT32_MIN;
  if (span.end - span.begin == 1) return span.end;
  const Span left = span.left();
  const Span right = span.right();
  std::int32_t found = INT32_MIN;
  if (right.begin < end) found = past_last_above(right, begin, end, limit - node.pending);
  if (found == INT32_MIN && begin < left.end) found = past_last_above(left, begin, end, limit - node.pending);
  return found;
}

double ByteProfile::clipped_sum(std::int32_t begin, std::int32_t end, std::int64_t limit,
                                std::int64_t cap) const {
  return begin < end ? clipped_sum(root(), begin, end, limit, cap) : 0;
}

double ByteProfile::clipped_sum(Span span, std::int32_t begin, std::int32_t end, std::int64_t limit,
                                std::int64_t cap) const {
  const Node& node = nodes_[span.node];
  if (node.most <= limit) return 0;
  if (begin <= span.begin && span.end <= end) {
    const auto length = static_cast<double>(span.end - span.begin);
    if (node.least >= limit + cap) return length * static_cast<double>(cap);
    if (node.least >= limit && node.most <= limit + cap)
      return static_cast<double>(node.sum) - length * static_cast<double>(limit);
  }
  // Below, the node's own additions show as a lower limit.
  const Span left = span.left();
  const Span right = span.right();
  double sum = 0;
  if (begin < left.end) sum = clipped_sum(left, begin, end, limit - node.pending, cap);
  if (right.begin < end) sum += clipped_sum(right, begin, end, limit - node.pending, cap);
  return sum;
}

}  // namespace vdnn
