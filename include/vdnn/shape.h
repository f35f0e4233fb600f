#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

namespace vdnn {

enum class DataType { float32, int32, index8 };

std::int64_t size_bytes(DataType type);

// Extents of a tensor, outermost first: images are batch x channels x height x width.
class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<std::int64_t> dims) : dims_(dims) {}
  explicit Shape(std::vector<std::int64_t> dims) : dims_(std::move(dims)) {}

  [[nodiscard]] std::size_t rank() const { return dims_.size(); }
  [[nodiscard]] std::int64_t operator[](std::size_t axis) const { return dims_[axis]; }
  [[nodiscard]] const std::vector<std::int64_t>& dims() const { return dims_; }

  // Product of all extents; throws UsageError when it overflows.
  [[nodiscard]] std::int64_t elements() const;

  // Product of the extents behind the first: values per example.
  [[nodiscard]] std::int64_t elements_per_example() const;

  // "32x3x224x224".
  [[nodiscard]] std::string text() const;

  friend bool operator==(const Shape&, const Shape&) = default;

 private:
  std::vector<std::int64_t> dims_;
};

// Bytes of a float32 tensor of this shape, with room for eight-byte elements; throws UsageError when
// they overflow.
std::int64_t checked_bytes(const Shape& shape);

}  // namespace vdnn
