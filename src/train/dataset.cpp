#include "vdnn/dataset.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/counter_random.h"
#include "base/nearest.h"
#include "train/idx_dataset.h"
#include "train/idx_file.h"
#include "train/random_streams.h"
#include "train/synthetic_dataset.h"
#include "vdnn/error.h"

namespace vdnn {
namespace {

constexpr std::string_view kFashionMnist = "fashion-mnist";
constexpr std::string_view kSynthetic = "synthetic";
constexpr std::string_view kSyntheticPrefix = "synthetic:";

std::unique_ptr<Dataset> open_idx_pair(std::string name, const std::string& images_path,
                                       const std::string& labels_path, std::int64_t classes,
                                       const std::string& advice) {
  // Labels first: they are small, and files given in the wrong order are then refused at once.
  const IdxFile labels = read_idx_file(labels_path, IdxContent::labels, advice);
  IdxFile images = read_idx_file(images_path, IdxContent::images, advice);
  return std::make_unique<IdxDataset>(std::move(name), std::move(images), labels, classes);
}

std::unique_ptr<Dataset> open_fashion_mnist(std::int64_t classes) {
  const char* configured = std::getenv("VDNN_DATASETS");
  const std::string base = configured != nullptr && *configured != '\0' ? configured : "/usr/share/datasets";
  const std::string directory = base + "/fashion-mnist/";
  return open_idx_pair(std::string(kFashionMnist), directory + "train-images-idx3-ubyte.gz",
                       directory + "train-labels-idx1-ubyte.gz", classes,
                       "apt-get install dataset-fashion-mnist, or set VDNN_DATASETS to the directory that "
                       "holds fashion-mnist/");
}

std::int64_t parse_size(const std::string& name) {
  const char* first = name.data() + kSyntheticPrefix.size();
  const char* last = name.data() + name.size();
  std::int64_t size = 0;
  const auto [end, error] = std::from_chars(first, last, size);
  if (error != std::errc{} || end != last || size < 1) {
    throw UsageError(
        fmt::format("data set '{}': '{}' is not a number of examples; write for example synthetic:{}", name,
                    std::string_view(first, last), SyntheticDataset::kDefaultSize));
  }
  return size;
}

std::unique_ptr<Dataset> open_named_files(const std::string& name, std::int64_t classes) {
  const std::size_t comma = name.find(',');
  const std::string images_path = name.substr(0, comma);
  const std::string labels_path = name.substr(comma + 1);
  if (images_path.empty() || labels_path.empty() || labels_path.find(',') != std::string::npos) {
    throw UsageError(fmt::format("data set '{}' is not a pair of files; write IMAGES,LABELS", name));
  }
  return open_idx_pair(name, images_path, labels_path, classes, "");
}

// 64-bit draws of one epoch, one after the other.
class EpochDraws {
 public:
  EpochDraws(std::uint64_t seed, std::uint32_t epoch) : random_(seed, kShuffleStream, epoch) {}

  // Uniform in [0, bound), without bias: draws above the last whole multiple of `bound` are rejected.
  std::uint64_t below(std::uint64_t bound) {
    constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();
    const std::uint64_t whole = kMax - kMax % bound;
    std::uint64_t draw = next();
    while (draw >= whole) draw = next();
    return draw % bound;
  }

 private:
  std::uint64_t next() {
    const auto draws = random_.draws(block_++);
    return std::uint64_t{draws[0]} << 32 | draws[1];
  }

  CounterRandom random_;
  std::uint64_t block_ = 0;
};

}  // namespace

std::vector<std::string> dataset_names() {
  return {std::string(kFashionMnist), std::string(kSynthetic)};
}

std::unique_ptr<Dataset> open_dataset(const std::string& name, std::int64_t classes, std::uint64_t seed) {
  if (classes < 1)
    throw UsageError(fmt::format("a data set cannot have {} classes; at least 1 is needed", classes));
  if (name == kFashionMnist) return open_fashion_mnist(classes);
  if (name == kSynthetic) {
    return std::make_unique<SyntheticDataset>(SyntheticDataset::kDefaultSize, classes, seed);
  }
  if (name.starts_with(kSyntheticPrefix)) {
    return std::make_unique<SyntheticDataset>(parse_size(name), classes, seed);
  }
  if (name.find(',') != std::string::npos) return open_named_files(name, classes);
  throw UsageError(fmt::format("unknown data set '{}'{}; two IDX files are given as IMAGES,LABELS", name,
                               suggest(name, dataset_names())));
}

void require_batch(const Dataset& data, std::int64_t batch) {
  if (data.size() >= batch) return;
  throw StorageError(fmt::format("{} has {} examples, fewer than one batch of {}; lower --batch",
                                 data.description(), data.size(), batch));
}

// Fisher-Yates: every permutation is equally likely as far as the generator goes.
std::vector<std::int64_t> shuffled_indices(std::int64_t size, std::uint64_t seed, std::int64_t epoch) {
  if (size < 0) throw UsageError(fmt::format("cannot shuffle {} examples", size));
  if (epoch < 0 || epoch > std::numeric_limits<std::uint32_t>::max()) {
    throw UsageError(fmt::format("epoch {} is not in 0 to 4294967295", epoch));
  }
  std::vector<std::int64_t> indices(static_cast<std::size_t>(size));
  std::iota(indices.begin(), indices.end(), std::int64_t{0});
  EpochDraws draws(seed, static_cast<std::uint32_t>(epoch));
  for (std::size_t remaining = indices.size(); remaining > 1; --remaining) {
    std::swap(indices[remaining - 1], indices[draws.below(remaining)]);
  }
  return indices;
}

}  // namespace vdnn
