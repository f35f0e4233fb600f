#pragma once

#include "device/cpu/layout.h"

namespace vdnn::cpu {

// Copies `count` channels of every image between two maps of the same size, whatever their layouts.
// Whole blocks go as one piece.
void copy_channels(const float* from, const Layout& from_layout, std::int64_t from_channel, float* to,
                   const Layout& to_layout, std::int64_t to_channel, std::int64_t count);

// Zeroes the channels that only pad the last block.
void clear_padding(float* data, const Layout& layout);

}  // namespace vdnn::cpu
