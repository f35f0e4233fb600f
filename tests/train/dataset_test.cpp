#include "vdnn/dataset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <numeric>

#include "support/error_message.h"
#include "support/file_bytes.h"
#include "support/temporary_directory.h"
#include "vdnn/error.h"

namespace vdnn {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using testing::error_message;
using ::testing::FloatNear;
using testing::gzip;
using ::testing::HasSubstr;
using testing::idx_bytes;
using ::testing::Pointwise;
using testing::write_file;

std::vector<float> pixels_of(const Dataset& data, std::int64_t index, const ImageFormat& format) {
  std::vector<float> pixels(static_cast<std::size_t>(format.channels * format.height * format.width));
  data.image(index, format, pixels);
  return pixels;
}

std::string usage_error(const std::string& name) {
  return error_message<UsageError>([&] { open_dataset(name, 10, 1); });
}

class IdxDatasetTest : public ::testing::Test {
 protected:
  std::unique_ptr<Dataset> open(const std::vector<std::uint32_t>& shape,
                                const std::vector<std::uint8_t>& images,
                                const std::vector<std::uint8_t>& labels, std::int64_t classes = 10) {
    write_file(images_path_, idx_bytes(shape, images));
    write_file(labels_path_, gzip(idx_bytes({static_cast<std::uint32_t>(labels.size())}, labels)));
    return open_dataset(images_path_ + "," + labels_path_, classes, 1);
  }

  testing::TemporaryDirectory directory_{::testing::TempDir()};
  std::string images_path_ = directory_.path() + "/images";
  std::string labels_path_ = directory_.path() + "/labels.gz";
};

TEST_F(IdxDatasetTest, KnowsSizeLabelsAndClasses) {
  const auto data = open({3, 1, 1}, {0, 100, 200}, {4, 0, 6}, 1000);
  EXPECT_EQ(data->size(), 3);
  EXPECT_EQ(data->classes(), 7);
  EXPECT_EQ(data->label(0), 4);
  EXPECT_EQ(data->label(2), 6);
  EXPECT_THAT(data->description(), HasSubstr("3 images of 1x1x1, 7 classes"));
}

TEST_F(IdxDatasetTest, PixelsHaveZeroMeanAndUnitVarianceOverAllImages) {
  // Mean 100, deviation 50.
  const auto data = open({2, 1, 2}, {50, 150, 150, 50}, {0, 1});
  EXPECT_THAT(pixels_of(*data, 0, {1, 1, 2}), Pointwise(FloatNear(1e-6F), {-1.0F, 1.0F}));
  EXPECT_THAT(pixels_of(*data, 1, {1, 1, 2}), Pointwise(FloatNear(1e-6F), {1.0F, -1.0F}));
}

TEST_F(IdxDatasetTest, ImagesOfOneValueBecomeZeros) {
  const auto data = open({2, 2, 2}, std::vector<std::uint8_t>(8, 77), {0, 1});
  EXPECT_THAT(pixels_of(*data, 1, {1, 3, 3}), Each(FloatNear(0, 1e-4F)));
}

TEST_F(IdxDatasetTest, EqualSizesKeepEveryPixelApart) {
  std::vector<std::uint8_t> bytes(256);
  std::iota(bytes.begin(), bytes.end(), std::uint8_t{0});
  const auto data = open({1, 16, 16}, bytes, {0});
  const std::vector<float> pixels = pixels_of(*data, 0, {1, 16, 16});
  const double deviation = std::sqrt((256.0 * 256.0 - 1) / 12);
  for (std::size_t i = 0; i < 256; ++i) {
    EXPECT_NEAR(pixels[i], (static_cast<double>(i) - 127.5) / deviation, 1e-6) << i;
  }
}

TEST_F(IdxDatasetTest, OnePixelFillsOddSizes) {
  const auto data = open({2, 1, 1}, {50, 150}, {0, 1});
  EXPECT_THAT(pixels_of(*data, 1, {2, 5, 3}), Each(FloatNear(1.0F, 1e-6F)));
}

TEST_F(IdxDatasetTest, ResizeOfARampIsTheRampClampedAtTheEdges) {
  // f(y, x) = 4 y + 3 x is bilinear, so interpolation reproduces it wherever it has neighbours.
  constexpr int kSize = 28;
  std::vector<std::uint8_t> bytes;
  for (int y = 0; y < kSize; ++y) {
    for (int x = 0; x < kSize; ++x) bytes.push_back(static_cast<std::uint8_t>(4 * y + 3 * x));
  }
  const auto data = open({1, kSize, kSize}, bytes, {0});
  const double mean = 7 * 13.5;
  const double deviation = std::sqrt(25 * (kSize * kSize - 1) / 12.0);
  for (const auto& [height, width] : {std::pair{7, 9}, std::pair{61, 28}, std::pair{224, 100}}) {
    const std::vector<float> pixels = pixels_of(*data, 0, {1, height, width});
    const auto source = [](int i, int extent) {
      return std::clamp((i + 0.5) * kSize / extent - 0.5, 0.0, kSize - 1.0);
    };
    for (int y = 0; y < height; ++y) {
      for (int x = 0; x < width; ++x) {
        const double value = 4 * source(y, height) + 3 * source(x, width);
        EXPECT_NEAR(pixels[static_cast<std::size_t>(y * width + x)], (value - mean) / deviation, 2e-6)
            << height << "x" << width << " at " << y << ", " << x;
      }
    }
  }
}

TEST_F(IdxDatasetTest, GreyIsCopiedToEveryChannel) {
  const auto data = open({1, 2, 2}, {0, 10, 200, 90}, {0});
  const std::vector<float> grey = pixels_of(*data, 0, {1, 3, 5});
  const std::vector<float> colour = pixels_of(*data, 0, {3, 3, 5});
  for (std::size_t i = 0; i < colour.size(); ++i) EXPECT_EQ(colour[i], grey[i % 15]) << i;
}

TEST_F(IdxDatasetTest, EqualChannelsStayApart) {
  // Mean 100, deviation 50.
  const auto data = open({1, 2, 1, 2}, {50, 50, 150, 150}, {0});
  EXPECT_THAT(pixels_of(*data, 0, {2, 1, 2}), Pointwise(FloatNear(1e-6F), {-1.0F, -1.0F, 1.0F, 1.0F}));
}

TEST_F(IdxDatasetTest, OtherChannelCountsGetTheMean) {
  // Mean 100, deviation sqrt(3700 / 3); channel means 90 and 110.
  const auto data = open({1, 3, 1, 2}, {50, 150, 100, 60, 120, 120}, {0});
  const auto expected = static_cast<float>(10 / std::sqrt(3700.0 / 3));
  EXPECT_THAT(pixels_of(*data, 0, {1, 1, 2}), Pointwise(FloatNear(1e-6F), {-expected, expected}));
  EXPECT_THAT(pixels_of(*data, 0, {2, 1, 2}),
              Pointwise(FloatNear(1e-6F), {-expected, expected, -expected, expected}));
}

TEST_F(IdxDatasetTest, RefusesLabelOutOfRangeWithFileIndexLabelAndClasses) {
  const std::string message = error_message<StorageError>([&] {
    open({4, 1, 1}, {1, 2, 3, 4}, {0, 4, 5, 9}, 5);
  });
  EXPECT_THAT(message, AllOf(HasSubstr(labels_path_), HasSubstr("label 5 at index 2 is not below 5"),
                             HasSubstr("at least 10 classes")));
}

TEST_F(IdxDatasetTest, RefusesDifferentCounts) {
  const std::string message = error_message<StorageError>([&] { open({2, 1, 1}, {1, 2}, {0, 1, 2}); });
  EXPECT_THAT(message, AllOf(HasSubstr(images_path_ + " holds 2 images"), HasSubstr("holds 3 labels")));
}

TEST_F(IdxDatasetTest, RefusesExamplesAndBuffersThatDoNotExist) {
  const auto data = open({2, 1, 1}, {1, 2}, {0, 1});
  std::vector<float> pixels(3);
  EXPECT_THAT(error_message<UsageError>([&] { (void)data->label(2); }),
              HasSubstr("example 2 does not exist"));
  EXPECT_THAT(error_message<UsageError>([&] { (void)data->label(-1); }), HasSubstr("example -1"));
  EXPECT_THAT(error_message<UsageError>([&] {
                data->image(0, {1, 2, 2}, pixels);
              }),
              HasSubstr("1x2x2 has 4 pixels, but there is room for 3"));
  EXPECT_THAT(error_message<UsageError>([&] { data->image(0, {1, 0, 2}, {}); }), HasSubstr("has no pixels"));
}

TEST_F(IdxDatasetTest, ResizedPixelsStayWithinTheRangeOfTheirSource) {
  EXPECT_TRUE(rc::check([&] {
    const auto size = rc::gen::inRange<std::uint32_t>(1, 12);
    const std::uint32_t height = *size;
    const std::uint32_t width = *size;
    auto bytes =
        *rc::gen::container<std::vector<std::uint8_t>>(height * width, rc::gen::arbitrary<std::uint8_t>());
    const auto data = open({1, height, width}, bytes, {0});
    const auto exact = pixels_of(*data, 0, {1, height, width});
    const auto [low, high] = std::minmax_element(exact.begin(), exact.end());
    for (const float pixel : pixels_of(*data, 0, {1, *size, *size})) {
      RC_ASSERT(pixel >= *low - 1e-5F);
      RC_ASSERT(pixel <= *high + 1e-5F);
    }
  }));
}

TEST(FashionMnist, HasItsExamplesAndClasses) {
  const auto data = open_dataset("fashion-mnist", 1000, 1);
  EXPECT_EQ(data->size(), 60000);
  EXPECT_EQ(data->classes(), 10);
  std::vector<int> counts(10);
  for (std::int64_t i = 0; i < data->size(); ++i) ++counts[static_cast<std::size_t>(data->label(i))];
  EXPECT_THAT(counts, Each(6000));
  EXPECT_THAT((std::vector{data->label(0), data->label(1), data->label(59999)}), ElementsAre(9, 0, 5));
}

TEST(FashionMnist, HasTheKnownMeanAndDeviation) {
  // The published statistics are 0.2860 and 0.3530: black becomes -0.8102.
  const auto data = open_dataset("fashion-mnist", 10, 1);
  EXPECT_NEAR(pixels_of(*data, 0, {1, 28, 28})[0], -0.2860 / 0.3530, 1e-3);
  double sum = 0;
  double sum_of_squares = 0;
  for (std::int64_t i = 0; i < data->size(); ++i) {
    for (const float pixel : pixels_of(*data, i, {1, 28, 28})) {
      sum += pixel;
      sum_of_squares += double{pixel} * pixel;
    }
  }
  const double count = 60000.0 * 784;
  EXPECT_NEAR(sum / count, 0, 1e-5);
  EXPECT_NEAR(sum_of_squares / count, 1, 1e-5);
}

TEST(FashionMnist, RefusesNetworksWithFewerClasses) {
  EXPECT_THAT(error_message<StorageError>([] { open_dataset("fashion-mnist", 9, 1); }),
              AllOf(HasSubstr("train-labels-idx1-ubyte.gz"), HasSubstr("label 9 at index 0 is not below 9")));
}

TEST(FashionMnist, MissingPackageIsNamed) {
  const char* before = std::getenv("VDNN_DATASETS");
  const std::string restore = before == nullptr ? "" : before;
  ::setenv("VDNN_DATASETS", "/nowhere", 1);
  const std::string message = error_message<StorageError>([] { open_dataset("fashion-mnist", 10, 1); });
  before == nullptr ? ::unsetenv("VDNN_DATASETS") : ::setenv("VDNN_DATASETS", restore.c_str(), 1);
  EXPECT_THAT(message, AllOf(HasSubstr("/nowhere/fashion-mnist/train-labels-idx1-ubyte.gz"),
                             HasSubstr("apt-get install dataset-fashion-mnist")));
}

TEST(SyntheticDataset, HasTheSizeThatItsNameSays) {
  EXPECT_EQ(open_dataset("synthetic", 10, 1)->size(), 1024);
  EXPECT_EQ(open_dataset("synthetic:7", 10, 1)->size(), 7);
  EXPECT_EQ(open_dataset("synthetic:7", 10, 1)->classes(), 10);
}

TEST(SyntheticDataset, LabelsCoverTheClasses) {
  const auto data = open_dataset("synthetic", 10, 3);
  std::vector<int> counts(10);
  for (std::int64_t i = 0; i < data->size(); ++i) ++counts.at(static_cast<std::size_t>(data->label(i)));
  EXPECT_THAT(counts, Each(::testing::AllOf(::testing::Ge(70), ::testing::Le(140))));
}

TEST(SyntheticDataset, ImageIsAFunctionOfSeedIndexAndFormat) {
  const ImageFormat format = {3, 17, 13};
  const auto first = open_dataset("synthetic:50", 10, 5);
  const auto second = open_dataset("synthetic", 10, 5);
  pixels_of(*second, 3, {1, 4, 4});
  EXPECT_EQ(pixels_of(*first, 49, format), pixels_of(*second, 49, format));
  EXPECT_NE(pixels_of(*first, 48, format), pixels_of(*first, 49, format));
  EXPECT_NE(pixels_of(*first, 49, format), pixels_of(*open_dataset("synthetic", 10, 6), 49, format));
}

TEST(SyntheticDataset, PixelsHaveRoughlyZeroMeanAndUnitVariance) {
  const auto data = open_dataset("synthetic", 10, 1);
  double sum = 0;
  double sum_of_squares = 0;
  for (std::int64_t i = 0; i < 200; ++i) {
    for (const float pixel : pixels_of(*data, i, {3, 32, 32})) {
      sum += pixel;
      sum_of_squares += double{pixel} * pixel;
    }
  }
  const double count = 200.0 * 3 * 32 * 32;
  EXPECT_NEAR(sum / count, 0, 0.02);
  EXPECT_NEAR(sum_of_squares / count, 1, 0.2);
}

TEST(SyntheticDataset, NearestClassMeanFindsNearlyEveryLabel) {
  const auto data = open_dataset("synthetic", 10, 1);
  const ImageFormat format = {3, 16, 16};
  std::vector<std::vector<double>> means(10, std::vector<double>(3 * 16 * 16));
  std::vector<double> counts(10);
  for (std::int64_t i = 0; i < 512; ++i) {
    const auto label = static_cast<std::size_t>(data->label(i));
    const std::vector<float> pixels = pixels_of(*data, i, format);
    for (std::size_t p = 0; p < pixels.size(); ++p) means[label][p] += pixels[p];
    ++counts[label];
  }
  int correct = 0;
  for (std::int64_t i = 512; i < 1024; ++i) {
    const std::vector<float> pixels = pixels_of(*data, i, format);
    std::vector<double> distances(10);
    for (std::size_t label = 0; label < 10; ++label) {
      for (std::size_t p = 0; p < pixels.size(); ++p) {
        distances[label] += std::pow(pixels[p] - means[label][p] / counts[label], 2);
      }
    }
    const auto nearest = std::min_element(distances.begin(), distances.end()) - distances.begin();
    correct += nearest == data->label(i) ? 1 : 0;
  }
  EXPECT_GE(correct, 500);
}

TEST(SyntheticDataset, RefusesSizesThatAreNoPositiveNumber) {
  for (const char* name : {"synthetic:", "synthetic:0", "synthetic:-1", "synthetic:1x", "synthetic:x",
                           "synthetic: 1", "synthetic:99999999999999999999"}) {
    EXPECT_THAT(usage_error(name), HasSubstr("is not a number of examples")) << name;
  }
  EXPECT_THAT(usage_error("synthetic:100000001"), HasSubstr("1 to 100000000 examples"));
}

TEST(OpenDataset, UnknownNameGetsTheNearest) {
  EXPECT_THAT(usage_error("fashion-mist"),
              AllOf(HasSubstr("unknown data set 'fashion-mist'"), HasSubstr("did you mean 'fashion-mnist'")));
  EXPECT_THAT(usage_error("imagenet-22k"), HasSubstr("known: fashion-mnist, synthetic"));
}

TEST(OpenDataset, KnowsEveryNameItLists) {
  for (const std::string& name : dataset_names()) EXPECT_GT(open_dataset(name, 10, 1)->size(), 0) << name;
}

TEST(OpenDataset, RefusesPairsThatAreNoPair) {
  for (const char* name : {",", "a,", ",b", "a,b,c"}) {
    EXPECT_THAT(usage_error(name), HasSubstr("write IMAGES,LABELS")) << name;
  }
}

TEST(OpenDataset, RefusesNetworksWithoutClasses) {
  EXPECT_THAT(error_message<UsageError>([] { open_dataset("synthetic", 0, 1); }), HasSubstr("0 classes"));
}

RC_GTEST_PROP(ShuffledIndices, ArePermutations, ()) {
  const std::int64_t size = *rc::gen::inRange<std::int64_t>(0, 300);
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  auto indices = shuffled_indices(size, seed, *rc::gen::arbitrary<std::uint32_t>());
  std::sort(indices.begin(), indices.end());
  std::vector<std::int64_t> expected(static_cast<std::size_t>(size));
  std::iota(expected.begin(), expected.end(), 0);
  RC_ASSERT(indices == expected);
}

TEST(ShuffledIndices, AreAFunctionOfSeedAndEpoch) {
  EXPECT_EQ(shuffled_indices(1000, 1, 2), shuffled_indices(1000, 1, 2));
  EXPECT_NE(shuffled_indices(1000, 1, 2), shuffled_indices(1000, 1, 3));
  EXPECT_NE(shuffled_indices(1000, 1, 2), shuffled_indices(1000, 2, 2));
  EXPECT_NE(shuffled_indices(1000, 1, 2), shuffled_indices(1000, 1 + (1ULL << 40), 2));
}

TEST(ShuffledIndices, TakeEveryPermutationEquallyOften) {
  // 24 permutations, 24000 epochs: each 1000 times, give or take 5 deviations of 31.
  std::map<std::vector<std::int64_t>, int> counts;
  for (std::int64_t epoch = 0; epoch < 24000; ++epoch) ++counts[shuffled_indices(4, 7, epoch)];
  EXPECT_EQ(counts.size(), 24U);
  for (const auto& [permutation, count] : counts) EXPECT_NEAR(count, 1000, 155);
}

TEST(ShuffledIndices, RefuseNegativeSizesAndEpochs) {
  EXPECT_THROW(shuffled_indices(-1, 1, 0), UsageError);
  EXPECT_THROW(shuffled_indices(4, 1, -1), UsageError);
  EXPECT_THROW(shuffled_indices(4, 1, 1LL << 32), UsageError);
}

}  // namespace
}  // namespace vdnn
