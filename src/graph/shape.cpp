#include "vdnn/shape.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "vdnn/bytes.h"
#include "vdnn/error.h"

namespace vdnn {

std::int64_t size_bytes(DataType type) {
  return type == DataType::index8 ? 1 : 4;
}

std::int64_t Shape::elements() const {
  std::int64_t product = 1;
  for (const auto dim : dims_) {
    if (__builtin_mul_overflow(product, dim, &product)) {
      throw UsageError(
          fmt::format("tensor {}: its size overflows 64 bits; lower the batch or the image size", text()));
    }
  }
  return product;
}

std::int64_t Shape::elements_per_example() const {
  std::int64_t product = 1;
  for (std::size_t axis = 1; axis < dims_.size(); ++axis) product *= dims_[axis];
  return product;
}

std::string Shape::text() const {
  return fmt::format("{}", fmt::join(dims_, "x"));
}

std::int64_t checked_bytes(const Shape& shape) {
  // Sums over a network of a few thousand tensors must not overflow either.
  static_cast<void>(checked_multiply(shape.elements(), 8 * 65536, "bytes of tensor " + shape.text()));
  return shape.elements() * 4;
}

}  // namespace vdnn
