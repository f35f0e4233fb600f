#pragma once

#include <string_view>

namespace vdnn {

// "0.1.0".
std::string_view version();

}  // namespace vdnn
