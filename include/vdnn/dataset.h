#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace vdnn {

// What a network wants of one example.
struct ImageFormat {
  std::int64_t channels = 0;
  std::int64_t height = 0;
  std::int64_t width = 0;
};

// Labelled images. Immutable after construction; every member may be called from any thread.
class Dataset {
 public:
  virtual ~Dataset() = default;

  [[nodiscard]] virtual std::string description() const = 0;
  [[nodiscard]] virtual std::int64_t size() const = 0;
  [[nodiscard]] virtual std::int64_t classes() const = 0;

  [[nodiscard]] virtual std::int32_t label(std::int64_t index) const = 0;

  // Writes example `index`, resized and converted, to `pixels`: channels x height x width floats,
  // row by row, roughly zero mean and unit variance.
  virtual void image(std::int64_t index, const ImageFormat& format, std::span<float> pixels) const = 0;
};

// Names that open_dataset knows, for help texts.
std::vector<std::string> dataset_names();

// Opens "fashion-mnist" (Debian's dataset-fashion-mnist), "synthetic" or "synthetic:SIZE" (made from
// `seed`, `classes` classes), or "IMAGES,LABELS", a pair of IDX files, gzip or plain.
// Throws UsageError for an unknown name (with the nearest ones) and StorageError, with file and
// index, for files that are missing, truncated or corrupt, or whose labels are not below `classes`.
std::unique_ptr<Dataset> open_dataset(const std::string& name, std::int64_t classes, std::uint64_t seed);

// Throws StorageError where the data has less than one batch.
void require_batch(const Dataset& data, std::int64_t batch);

// The examples of an epoch in the order they are trained on: a permutation of [0, size) that is a
// function of seed and epoch alone.
std::vector<std::int64_t> shuffled_indices(std::int64_t size, std::uint64_t seed, std::int64_t epoch);

}  // namespace vdnn
