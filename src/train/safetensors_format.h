#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <span>

namespace vdnn {

static_assert(std::endian::native == std::endian::little, "values are copied to and from files as they are");

inline constexpr const char* kSafetensorsMetadata = "__metadata__";
inline constexpr std::int64_t kSafetensorsLengthBytes = 8;
// The limit of the format's own library: larger headers would be refused elsewhere.
inline constexpr std::int64_t kSafetensorsMaxHeaderBytes = 100'000'000;

// Bytes of a float tensor; nothing for negative extents or a result beyond 64 bits.
inline std::optional<std::int64_t> float_tensor_bytes(std::span<const std::int64_t> shape) {
  std::int64_t bytes = sizeof(float);
  for (const std::int64_t extent : shape) {
    if (extent < 0 || __builtin_mul_overflow(bytes, extent, &bytes)) return std::nullopt;
  }
  return bytes;
}

}  // namespace vdnn
