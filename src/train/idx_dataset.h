#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "train/bilinear.h"
#include "vdnn/dataset.h"

namespace vdnn {

struct IdxFile;

// The images and labels of two IDX files, kept in memory as bytes. Pixels become (v - mean) / deviation,
// with both taken over all bytes of the images.
class IdxDataset final : public Dataset {
 public:
  // `name` is for people. Throws StorageError if the files do not belong together or a label is not below
  // `classes`.
  IdxDataset(std::string name, IdxFile images, const IdxFile& labels, std::int64_t classes);

  [[nodiscard]] std::string description() const override;
  [[nodiscard]] std::int64_t size() const override;
  // The largest label plus one.
  [[nodiscard]] std::int64_t classes() const override;
  [[nodiscard]] std::int32_t label(std::int64_t index) const override;
  // Where the files have another number of channels than `format`, each channel is the mean of theirs.
  void image(std::int64_t index, const ImageFormat& format, std::span<float> pixels) const override;

 private:
  std::string name_;
  std::vector<std::uint8_t> image_bytes_;  // size x format_.channels x format_.height x format_.width
  std::vector<std::uint8_t> labels_;
  ImageFormat format_;
  std::int64_t classes_ = 0;
  AffineMap normalization_;
};

}  // namespace vdnn
