#pragma once

#include <cstdint>
#include <span>

#include "vdnn/graph.h"

namespace vdnn {

// Initial values first, first + 1, ... of a weight: a function of seed, stream and position alone.
void initial_values(const Parameter& parameter, std::uint64_t seed, std::uint32_t stream, std::int64_t first,
                    std::span<float> values);

}  // namespace vdnn
