#pragma once

#include <cstddef>
#include <cstdint>

#include "vdnn/dataset.h"

namespace vdnn {

// Throws UsageError unless 0 <= index < size.
void check_example_index(std::int64_t index, std::int64_t size);

// Throws UsageError unless `format` has positive extents and `pixel_count` is their product.
void check_image_format(const ImageFormat& format, std::size_t pixel_count);

}  // namespace vdnn
