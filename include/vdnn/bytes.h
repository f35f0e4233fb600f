#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace vdnn {

inline constexpr std::int64_t kKiB = 1024;
inline constexpr std::int64_t kMiB = 1024 * kKiB;
inline constexpr std::int64_t kGiB = 1024 * kMiB;

// Reads a size such as "2GiB", "1.5G", "300MB", "4096". K, M, G, T and KiB ... TiB are powers of
// 1024; KB, MB, GB and TB powers of 1000. Case does not matter. The result is at least one byte.
// Throws UsageError that quotes `text` for anything else, zero, negative or overflowing included.
std::int64_t parse_bytes(std::string_view text);

// "1.25 GiB", "512 B": three significant digits, for people.
std::string format_bytes(std::int64_t bytes);

// Smallest multiple of `multiple` (> 0) that is not below `value` (>= 0).
constexpr std::int64_t round_up(std::int64_t value, std::int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

// a * b for non-negative factors; throws UsageError that names `what` when it overflows int64.
std::int64_t checked_multiply(std::int64_t a, std::int64_t b, std::string_view what);

}  // namespace vdnn
