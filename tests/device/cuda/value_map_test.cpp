#include "device/cuda/value_map.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace vdnn::cuda {
namespace {

std::vector<float> numbers(std::int64_t count, float first) {
  std::vector<float> values(static_cast<std::size_t>(count));
  std::iota(values.begin(), values.end(), first);
  return values;
}

// By way of the bytes that range_of names, as the context does.
class Image {
 public:
  Image(const Layout& layout, DataType type)
      : map_(layout, type), bytes_(static_cast<std::size_t>(layout.values() * size_bytes(type))) {}

  void write(std::int64_t first, const std::vector<float>& values) {
    map_.write(range(first, std::ssize(values)), first, values);
  }
  std::vector<float> read(std::int64_t first, std::int64_t count) {
    std::vector<float> values(static_cast<std::size_t>(count));
    map_.read(range(first, count), first, values);
    return values;
  }
  [[nodiscard]] const ValueMap& map() const { return map_; }
  [[nodiscard]] const float* floats() const { return reinterpret_cast<const float*>(bytes_.data()); }

 private:
  std::span<std::byte> range(std::int64_t first, std::int64_t count) {
    const auto range = map_.range_of(first, count);
    return std::span(bytes_).subspan(static_cast<std::size_t>(range.begin_bytes),
                                     static_cast<std::size_t>(range.end_bytes - range.begin_bytes));
  }

  ValueMap map_;
  std::vector<std::byte> bytes_;
};

TEST(ValueMap, EveryPieceComesBackAndTheOthersStay) {
  const Shape shape = {3, 4, 2, 5};
  for (const bool channels_last : {false, true}) {
    for (const auto type : {DataType::float32, DataType::int32}) {
      const std::int64_t count = shape.elements();
      for (std::int64_t first = 0; first < count; ++first) {
        Image image({shape, channels_last}, type);
        auto expected = numbers(count, 1);
        image.write(0, expected);
        const auto piece = numbers((count - first + 1) / 2, 1000);
        image.write(first, piece);
        std::copy(piece.begin(), piece.end(), expected.begin() + first);
        ASSERT_EQ(image.read(0, count), expected) << first;
        ASSERT_EQ(image.read(first, std::ssize(piece)), piece) << first;
      }
    }
  }
}

TEST(ValueMap, ChannelsAreInnermostInTheirLayout) {
  Image image({{1, 3, 1, 2}, true}, DataType::float32);
  image.write(0, {1, 2, 11, 12, 21, 22});
  EXPECT_EQ(std::vector<float>(image.floats(), image.floats() + 6),
            (std::vector<float>{1, 11, 21, 2, 12, 22}));
}

TEST(ValueMap, NamesNoMoreBytesThanItNeeds) {
  const ValueMap rows({{4, 6}}, DataType::float32);
  EXPECT_EQ(rows.range_of(5, 3).begin_bytes, 20);
  EXPECT_EQ(rows.range_of(5, 3).end_bytes, 32);
  EXPECT_FALSE(rows.range_of(5, 3).holds_others);
  const ValueMap images({{4, 3, 2, 2}, true}, DataType::float32);
  EXPECT_EQ(images.range_of(13, 2).begin_bytes, 48);
  EXPECT_EQ(images.range_of(13, 2).end_bytes, 96);
  EXPECT_TRUE(images.range_of(13, 2).holds_others);
  EXPECT_FALSE(images.range_of(12, 12).holds_others);
}

}  // namespace
}  // namespace vdnn::cuda
