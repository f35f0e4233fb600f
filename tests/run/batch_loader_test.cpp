#include "train/batch_loader.h"

#include <gtest/gtest.h>

#include <atomic>
#include <vector>

#include "support/error_message.h"
#include "vdnn/error.h"

namespace vdnn::testing {
namespace {

constexpr ImageFormat kFormat = {.channels = 3, .height = 8, .width = 8};
constexpr std::int64_t kBatch = 13;
constexpr std::size_t kValues = 3 * 8 * 8;

struct Batch {
  std::vector<float> pixels = std::vector<float>(kBatch * kValues);
  std::vector<std::int32_t> labels = std::vector<std::int32_t>(kBatch);
  friend bool operator==(const Batch&, const Batch&) = default;
};

// Two epochs and a step, so that the order changes twice.
std::vector<Batch> load(bool parallel) {
  Batch now;
  BatchLoader loader(
      open_dataset("synthetic:30", 7, 3), kFormat, kBatch, 5,
      [&](std::int64_t position, std::span<const float> pixels, std::int32_t label) {
        const auto at = static_cast<std::size_t>(position);
        std::copy(pixels.begin(), pixels.end(),
                  now.pixels.begin() + static_cast<std::ptrdiff_t>(at * kValues));
        now.labels[at] = label;
      },
      parallel);
  std::vector<Batch> all;
  for (int step = 0; step < 5; ++step) {
    loader.start(step, nullptr);
    loader.finish();
    all.push_back(now);
  }
  return all;
}

TEST(BatchLoader, ManyThreadsLoadWhatOneDoes) {
  const auto one = load(false);
  EXPECT_EQ(load(true), one);
  EXPECT_NE(one[0], one[2]);
}

TEST(BatchLoader, ThrowsWhatAnExampleThrows) {
  for (const bool parallel : {false, true}) {
    std::atomic<int> stored = 0;
    BatchLoader loader(
        open_dataset("synthetic:30", 7, 3), kFormat, kBatch, 5,
        [&](std::int64_t position, std::span<const float>, std::int32_t) {
          ++stored;
          if (position == 11) throw StorageError("example 11");
        },
        parallel);
    loader.start(0, nullptr);
    EXPECT_EQ(error_message<StorageError>([&] { loader.finish(); }), "example 11");
    EXPECT_GT(stored, 0);
  }
}

}  // namespace
}  // namespace vdnn::testing
