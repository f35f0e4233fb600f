#include "device/cpu/index_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace vdnn::cpu {
namespace {

// The dense format of these extents whose blocks are given, and whose axes lie in this order, outermost
// first.
Blocking dense(std::vector<std::int64_t> dims, std::vector<std::size_t> order,
               std::vector<std::pair<std::size_t, std::int64_t>> blocks) {
  Blocking format{.dims = dims, .strides = std::vector<std::int64_t>(dims.size()), .blocks = blocks};
  std::int64_t stride = 1;
  for (const auto& [axis, size] : blocks) {
    stride *= size;
    dims[axis] = (dims[axis] + size - 1) / size;
  }
  for (auto axis = order.rbegin(); axis != order.rend(); ++axis) {
    format.strides[*axis] = stride;
    stride *= dims[*axis];
  }
  return format;
}

std::int64_t offset_of(const Blocking& format, std::int64_t index) {
  std::vector<std::int64_t> position(format.dims.size());
  for (std::size_t axis = format.dims.size(); axis > 0; --axis) {
    position[axis - 1] = index % format.dims[axis - 1];
    index /= format.dims[axis - 1];
  }
  std::int64_t offset = 0;
  std::int64_t stride = 1;
  for (auto block = format.blocks.rbegin(); block != format.blocks.rend(); ++block) {
    offset += position[block->first] % block->second * stride;
    position[block->first] /= block->second;
    stride *= block->second;
  }
  for (std::size_t axis = 0; axis < position.size(); ++axis) offset += position[axis] * format.strides[axis];
  return offset;
}

std::int64_t product(const std::vector<std::int64_t>& dims) {
  std::int64_t values = 1;
  for (const auto size : dims) values *= size;
  return values;
}

class IndexMapOf : public ::testing::TestWithParam<Blocking> {};

TEST_P(IndexMapOf, VisitsEveryValueAtItsOffset) {
  const IndexMap map(GetParam());
  const std::int64_t values = product(GetParam().dims);
  for (const std::int64_t piece : {values, std::int64_t{1}, std::int64_t{7}}) {
    for (std::int64_t first = 0; first < values; first += piece) {
      const std::int64_t count = std::min(piece, values - first);
      std::int64_t expected = 0;
      map.for_each(first, count, [&](std::int64_t i, std::int64_t offset) {
        ASSERT_EQ(i, expected++);
        ASSERT_EQ(offset, offset_of(GetParam(), first + i));
      });
      ASSERT_EQ(expected, count);
    }
  }
}

TEST_P(IndexMapOf, PadsWhatHoldsNoValue) {
  const IndexMap map(GetParam());
  std::vector<std::int64_t> padded = GetParam().dims;
  std::vector<std::int64_t> block(padded.size(), 1);
  for (const auto& [axis, size] : GetParam().blocks) block[axis] *= size;
  for (std::size_t axis = 0; axis < padded.size(); ++axis)
    padded[axis] = (padded[axis] + block[axis] - 1) / block[axis] * block[axis];
  std::multiset<std::int64_t> offsets;
  map.for_each(0, product(GetParam().dims), [&](std::int64_t, std::int64_t at) { offsets.insert(at); });
  map.for_each_padding([&](std::int64_t at) { offsets.insert(at); });
  std::multiset<std::int64_t> all;
  for (std::int64_t at = 0; at < product(padded); ++at) all.insert(at);
  EXPECT_EQ(offsets, all);
}

INSTANTIATE_TEST_SUITE_P(Formats, IndexMapOf,
                         ::testing::Values(dense({13}, {0}, {}), dense({2, 3, 4, 5}, {0, 1, 2, 3}, {}),
                                           dense({3, 2, 5, 4}, {2, 3, 1, 0}, {}),          // hwio
                                           dense({2, 16, 3, 5}, {0, 1, 2, 3}, {{1, 8}}),   // nChw8c
                                           dense({2, 19, 3, 1}, {0, 1, 2, 3}, {{1, 16}}),  // nChw16c, padded
                                           dense({9, 5, 3, 3}, {0, 1, 2, 3},
                                                 {{1, 8}, {0, 8}}),  // OIhw8i8o, both padded
                                           dense({9, 3, 3, 3}, {0, 2, 3, 1}, {{0, 8}}),  // Ohwi8o
                                           dense({2, 9, 7, 1, 3}, {0, 1, 2, 3, 4}, {{1, 8}, {2, 4}, {1, 2}}),
                                           dense({1}, {0}, {{0, 16}})));

}  // namespace
}  // namespace vdnn::cpu
