#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace vdnn {

// "2, 3, 4" for messages. (With fmt::join instead, GCC 12 warns of an overflow inside fmt 9 at -O3.)
inline std::string shape_text(std::span<const std::int64_t> shape, std::string_view separator = ", ") {
  std::string text;
  for (const std::int64_t extent : shape) {
    if (!text.empty()) text += separator;
    text += std::to_string(extent);
  }
  return text;
}

}  // namespace vdnn
