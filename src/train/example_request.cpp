#include "train/example_request.h"

#include <fmt/format.h>

#include "vdnn/bytes.h"
#include "vdnn/error.h"

namespace vdnn {

void check_example_index(std::int64_t index, std::int64_t size) {
  if (index < 0 || index >= size) {
    throw UsageError(
        fmt::format("example {} does not exist; the data set has examples 0 to {}", index, size - 1));
  }
}

void check_image_format(const ImageFormat& format, std::size_t pixel_count) {
  const auto& [channels, height, width] = format;
  if (channels < 1 || height < 1 || width < 1) {
    throw UsageError(fmt::format("an image of {}x{}x{} has no pixels", channels, height, width));
  }
  const std::int64_t wanted =
      checked_multiply(checked_multiply(channels, height, "image size"), width, "image size");
  if (static_cast<std::size_t>(wanted) != pixel_count) {
    throw UsageError(fmt::format("an image of {}x{}x{} has {} pixels, but there is room for {}", channels,
                                 height, width, wanted, pixel_count));
  }
}

}  // namespace vdnn
