#pragma once

#include <span>
#include <string_view>
#include <utility>

namespace vdnn {

// Names and texts of the files in profiles/; made by CMake.
std::span<const std::pair<std::string_view, std::string_view>> builtin_profiles();

}  // namespace vdnn
