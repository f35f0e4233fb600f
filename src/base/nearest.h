#pragma once

#include <span>
#include <string>
#include <string_view>

namespace vdnn {

// "; did you mean 'vgg-16' or 'vgg-116'?" for the known names within a small edit distance of
// `name`, else "; known: a, b, c". For error messages about unknown names.
std::string suggest(std::string_view name, std::span<const std::string> known);

}  // namespace vdnn
