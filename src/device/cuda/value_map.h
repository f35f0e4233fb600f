#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "device/cuda/context.h"
#include "device/cuda/layout.h"

namespace vdnn::cuda {

// Values of a tensor, in row-major order, in the bytes of its buffer as the device keeps it.
class ValueMap {
 public:
  ValueMap(Layout layout, DataType type) : layout_(std::move(layout)), type_(type) {}

  // Of channels-last layouts the bytes of whole examples.
  [[nodiscard]] DeviceCode::Range range_of(std::int64_t first, std::int64_t count) const;

  // `range` holds the bytes of range_of(first, the number of values).
  void write(std::span<std::byte> range, std::int64_t first, std::span<const float> values) const;
  void read(std::span<const std::byte> range, std::int64_t first, std::span<float> values) const;

 private:
  // Values of the buffer before those of the range.
  [[nodiscard]] std::int64_t begin_of(std::int64_t first) const;

  Layout layout_;
  DataType type_;
};

}  // namespace vdnn::cuda
