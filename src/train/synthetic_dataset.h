#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "vdnn/dataset.h"

namespace vdnn {

// Made-up examples that a network can learn: each class has a smooth pattern of its own (three plane waves
// per channel), each image adds noise of the same strength. A label is a function of (seed, classes, index)
// and an image of (seed, classes, index, format): nothing is stored.
class SyntheticDataset final : public Dataset {
 public:
  static constexpr std::int64_t kDefaultSize = 1024;
  static constexpr std::int64_t kMaxSize = 100'000'000;

  // Throws UsageError unless 1 <= size <= kMaxSize and 1 <= classes < 2^31.
  SyntheticDataset(std::int64_t size, std::int64_t classes, std::uint64_t seed);

  [[nodiscard]] std::string description() const override;
  [[nodiscard]] std::int64_t size() const override { return size_; }
  [[nodiscard]] std::int64_t classes() const override { return classes_; }
  [[nodiscard]] std::int32_t label(std::int64_t index) const override;
  void image(std::int64_t index, const ImageFormat& format, std::span<float> pixels) const override;

 private:
  std::int64_t size_;
  std::int64_t classes_;
  std::uint64_t seed_;
};

}  // namespace vdnn
