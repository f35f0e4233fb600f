#include "vdnn/bytes.h"

#include <fmt/format.h>

#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <utility>

#include "vdnn/error.h"

namespace vdnn {
namespace {

constexpr std::array<std::pair<std::string_view, double>, 14> kUnits = {{
    {"", 1.0},
    {"b", 1.0},
    {"k", 1024.0},
    {"kib", 1024.0},
    {"kb", 1e3},
    {"m", 1024.0 * 1024},
    {"mib", 1024.0 * 1024},
    {"mb", 1e6},
    {"g", 1024.0 * 1024 * 1024},
    {"gib", 1024.0 * 1024 * 1024},
    {"gb", 1e9},
    {"t", 1024.0 * 1024 * 1024 * 1024},
    {"tib", 1024.0 * 1024 * 1024 * 1024},
    {"tb", 1e12},
}};

[[noreturn]] void refuse(std::string_view text, std::string_view why) {
  throw UsageError(fmt::format("size '{}' {}; write for example 2GiB, 1.5G, 300MB or 4096", text, why));
}

}  // namespace

std::int64_t parse_bytes(std::string_view text) {
  double number = 0;
  const auto [rest, error] =
      std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (error != std::errc{} || !std::isfinite(number)) refuse(text, "is not a number of bytes");
  std::string unit;
  for (const char* at = rest; at != text.data() + text.size(); ++at) {
    if (*at != ' ') unit += static_cast<char>(std::tolower(static_cast<unsigned char>(*at)));
  }
  for (const auto& [name, factor] : kUnits) {
    if (name != unit) continue;
    const double bytes = std::floor(number * factor);
    if (bytes < 1) refuse(text, "is not positive");
    if (bytes >= 9.2e18) refuse(text, "is larger than any memory");
    return static_cast<std::int64_t>(bytes);
  }
  refuse(text, fmt::format("has the unknown unit '{}'", unit));
}

std::string format_bytes(std::int64_t bytes) {
  constexpr std::array<const char*, 5> kNames = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (std::abs(value) >= 999.5 && unit + 1 < kNames.size()) {
    value /= 1024;
    ++unit;
  }
  if (unit == 0) return fmt::format("{} B", bytes);
  const int decimals = std::abs(value) < 9.995 ? 2 : std::abs(value) < 99.95 ? 1 : 0;
  return fmt::format("{:.{}f} {}", value, decimals, kNames[unit]);
}

std::int64_t checked_multiply(std::int64_t a, std::int64_t b, std::string_view what) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) {
    throw UsageError(
        fmt::format("{}: {} x {} overflows 64 bits; lower the batch or the image size", what, a, b));
  }
  return product;
}

}  // namespace vdnn
