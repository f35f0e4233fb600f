#include "device/cuda/value_map.h"

namespace vdnn::cuda {

std::int64_t ValueMap::begin_of(std::int64_t first) const {
  const std::int64_t example = layout_.batch_stride();
  return layout_.is_row_major() ? first : first / example * example;
}

DeviceCode::Range ValueMap::range_of(std::int64_t first, std::int64_t count) const {
  const std::int64_t begin = begin_of(first);
  std::int64_t end = first + count;
  if (!layout_.is_row_major()) {
    const std::int64_t example = layout_.batch_stride();
    end = (end + example - 1) / example * example;
  }
  return {begin * size_bytes(type_), end * size_bytes(type_), end - begin > count};
}

void ValueMap::write(std::span<std::byte> range, std::int64_t first, std::span<const float> values) const {
  const std::int64_t begin = begin_of(first);
  auto* floats = reinterpret_cast<float*>(range.data());
  auto* integers = reinterpret_cast<std::int32_t*>(range.data());
  for (std::int64_t i = 0; i < std::ssize(values); ++i) {
    const float value = values[static_cast<std::size_t>(i)];
    const std::int64_t at = layout_.offset(first + i) - begin;
    if (type_ == DataType::int32) {
      integers[at] = static_cast<std::int32_t>(value);
    } else {
      floats[at] = value;
    }
  }
}

void ValueMap::read(std::span<const std::byte> range, std::int64_t first, std::span<float> values) const {
  const std::int64_t begin = begin_of(first);
  const auto* floats = reinterpret_cast<const float*>(range.data());
  const auto* integers = reinterpret_cast<const std::int32_t*>(range.data());
  for (std::int64_t i = 0; i < std::ssize(values); ++i) {
    const std::int64_t at = layout_.offset(first + i) - begin;
    values[static_cast<std::size_t>(i)] =
        type_ == DataType::int32 ? static_cast<float>(integers[at]) : floats[at];
  }
}

}  // namespace vdnn::cuda
