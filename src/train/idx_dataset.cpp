#include "train/idx_dataset.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "train/example_request.h"
#include "train/idx_file.h"
#include "vdnn/error.h"

namespace vdnn {
namespace {

void check_labels(const IdxFile& images, const IdxFile& labels, std::int64_t classes) {
  if (images.shape[0] != labels.shape[0]) {
    throw StorageError(
        fmt::format("{} holds {} images, but {} holds {} labels; give the two files of one data set",
                    images.path, images.shape[0], labels.path, labels.shape[0]));
  }
  const auto bad = std::find_if(labels.bytes.begin(), labels.bytes.end(),
                                [&](std::uint8_t label) { return label >= classes; });
  if (bad == labels.bytes.end()) return;
  const int largest = *std::max_element(labels.bytes.begin(), labels.bytes.end());
  throw StorageError(
      fmt::format("{}: label {} at index {} is not below {}, the number of classes of the network; "
                  "use a network with at least {} classes",
                  labels.path, *bad, bad - labels.bytes.begin(), classes, largest + 1));
}

// From a histogram, so that the result is exact and independent of any order of summation.
AffineMap normalization_of(std::span<const std::uint8_t> bytes) {
  // Neighbouring pixels are often equal; counting them in turns avoids waiting for the previous store.
  std::array<std::array<std::int64_t, 256>, 4> counts = {};
  for (std::size_t i = 0; i < bytes.size(); ++i) ++counts[i % 4][bytes[i]];
  double sum = 0;
  double sum_of_squares = 0;
  for (std::size_t value = 0; value < 256; ++value) {
    const auto count =
        static_cast<double>(counts[0][value] + counts[1][value] + counts[2][value] + counts[3][value]);
    sum += count * static_cast<double>(value);
    sum_of_squares += count * static_cast<double>(value * value);
  }
  const auto total = static_cast<double>(bytes.size());
  const double mean = sum / total;
  const double variance = std::max(0.0, sum_of_squares / total - mean * mean);
  // Images of one value throughout have nothing to scale.
  const double deviation = variance > 1e-9 ? std::sqrt(variance) : 1.0;
  return {.scale = static_cast<float>(1.0 / deviation), .offset = static_cast<float>(-mean / deviation)};
}

ImageFormat format_of(const IdxFile& images) {
  const auto& shape = images.shape;
  if (shape.size() == 3) return {.channels = 1, .height = shape[1], .width = shape[2]};
  return {.channels = shape[1], .height = shape[2], .width = shape[3]};
}

}  // namespace

IdxDataset::IdxDataset(std::string name, IdxFile images, const IdxFile& labels, std::int64_t classes)
    : name_(std::move(name)), labels_(labels.bytes), format_(format_of(images)) {
  check_labels(images, labels, classes);
  classes_ = std::int64_t{*std::max_element(labels_.begin(), labels_.end())} + 1;
  normalization_ = normalization_of(images.bytes);
  image_bytes_ = std::move(images.bytes);
}

std::string IdxDataset::description() const {
  return fmt::format("{}: {} images of {}x{}x{}, {} classes", name_, size(), format_.channels, format_.height,
                     format_.width, classes_);
}

std::int64_t IdxDataset::size() const {
  return static_cast<std::int64_t>(labels_.size());
}

std::int64_t IdxDataset::classes() const {
  return classes_;
}

std::int32_t IdxDataset::label(std::int64_t index) const {
  check_example_index(index, size());
  return labels_[static_cast<std::size_t>(index)];
}

void IdxDataset::image(std::int64_t index, const ImageFormat& format, std::span<float> pixels) const {
  check_example_index(index, size());
  check_image_format(format, pixels.size());
  const std::int64_t src_plane = format_.height * format_.width;
  const auto dst_plane = static_cast<std::size_t>(format.height * format.width);
  const std::span<const std::uint8_t> bytes =
      std::span(image_bytes_)
          .subspan(static_cast<std::size_t>(index * format_.channels * src_plane),
                   static_cast<std::size_t>(format_.channels * src_plane));
  MeanOfPlanes src{
      .bytes = bytes, .count = format_.channels, .height = format_.height, .width = format_.width};
  if (format.channels != format_.channels) {
    resize_bilinear(src, normalization_, format.height, format.width, pixels.first(dst_plane));
    for (std::size_t at = dst_plane; at < pixels.size(); at += dst_plane) {
      std::copy_n(pixels.data(), dst_plane, pixels.data() + at);
    }
    return;
  }
  src.count = 1;
  for (std::int64_t channel = 0; channel < format.channels; ++channel) {
    src.bytes =
        bytes.subspan(static_cast<std::size_t>(channel * src_plane), static_cast<std::size_t>(src_plane));
    resize_bilinear(src, normalization_, format.height, format.width,
                    pixels.subspan(static_cast<std::size_t>(channel) * dst_plane, dst_plane));
  }
}

}  // namespace vdnn
