#include "train/synthetic_dataset.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "base/counter_random.h"
#include "train/example_request.h"
#include "train/random_streams.h"
#include "vdnn/error.h"

namespace vdnn {
namespace {

constexpr std::size_t kWaves = 3;
constexpr std::uint32_t kMaxCycles = 4;
// A wave sin * sin has variance 1/4: three of this amplitude have 1/2 together.
constexpr double kWaveAmplitude = 0.816496580927726;
// Uniform noise in [-a, a) has variance a^2 / 3: the other half.
constexpr float kNoiseAmplitude = 1.2247449F;

// One factor of a separable wave, sampled at the pixel centres of one axis.
std::vector<float> sampled_sine(std::uint32_t cycles_draw, std::uint32_t phase_draw, double amplitude,
                                std::int64_t extent) {
  const double cycles = 1 + cycles_draw % kMaxCycles;
  const double phase = phase_draw * 0x1.0p-32;
  std::vector<float> samples(static_cast<std::size_t>(extent));
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const double turns = cycles * (static_cast<double>(i) + 0.5) / static_cast<double>(extent) + phase;
    samples[i] = static_cast<float>(amplitude * std::sin(2 * std::numbers::pi * turns));
  }
  return samples;
}

void write_pattern(const CounterRandom& random, std::int64_t channel, const ImageFormat& format,
                   float* plane) {
  std::array<std::vector<float>, kWaves> rows;
  std::array<std::vector<float>, kWaves> columns;
  for (std::size_t wave = 0; wave < kWaves; ++wave) {
    const auto draws = random.draws(static_cast<std::uint64_t>(channel) * kWaves + wave);
    rows[wave] = sampled_sine(draws[0], draws[1], kWaveAmplitude, format.height);
    columns[wave] = sampled_sine(draws[2], draws[3], 1, format.width);
  }
  const auto width = static_cast<std::size_t>(format.width);
  for (std::size_t y = 0; y < static_cast<std::size_t>(format.height); ++y) {
    float* row = plane + y * width;
    for (std::size_t x = 0; x < width; ++x) {
      row[x] = rows[0][y] * columns[0][x] + rows[1][y] * columns[1][x] + rows[2][y] * columns[2][x];
    }
  }
}

// Sixteen bits suffice for noise and halve the generator's share, which dominates: 8 pixels per block.
void add_noise(const CounterRandom& random, std::span<float> pixels) {
  constexpr std::size_t kPerBlock = 8;
  constexpr float kScale = kNoiseAmplitude * 0x1.0p-15F;
  for (std::size_t at = 0; at < pixels.size(); at += kPerBlock) {
    const auto draws = random.draws(at / kPerBlock);
    std::array<float, kPerBlock> noise = {};
    for (std::size_t i = 0; i < kPerBlock; ++i) {
      const auto bits = static_cast<std::int16_t>(draws[i / 2] >> (16 * (i % 2)));
      noise[i] = static_cast<float>(bits) * kScale;
    }
    const std::size_t count = std::min(kPerBlock, pixels.size() - at);
    for (std::size_t i = 0; i < count; ++i) pixels[at + i] += noise[i];
  }
}

}  // namespace

SyntheticDataset::SyntheticDataset(std::int64_t size, std::int64_t classes, std::uint64_t seed)
    : size_(size), classes_(classes), seed_(seed) {
  if (size < 1 || size > kMaxSize) {
    throw UsageError(fmt::format("a synthetic data set has 1 to {} examples, not {}", kMaxSize, size));
  }
  if (classes < 1 || classes > std::numeric_limits<std::int32_t>::max()) {
    throw UsageError(fmt::format("a data set cannot have {} classes; 1 to 2147483647 are possible", classes));
  }
}

std::string SyntheticDataset::description() const {
  return fmt::format("synthetic: {} images of any size, {} classes, seed {}", size_, classes_, seed_);
}

std::int32_t SyntheticDataset::label(std::int64_t index) const {
  check_example_index(index, size_);
  const std::uint64_t draw =
      CounterRandom(seed_, kSyntheticLabelStream, 0).draw(static_cast<std::uint64_t>(index));
  return static_cast<std::int32_t>((draw * static_cast<std::uint64_t>(classes_)) >> 32);
}

void SyntheticDataset::image(std::int64_t index, const ImageFormat& format, std::span<float> pixels) const {
  check_example_index(index, size_);
  check_image_format(format, pixels.size());
  const CounterRandom pattern(seed_, kSyntheticPatternStream, static_cast<std::uint32_t>(label(index)));
  for (std::int64_t channel = 0; channel < format.channels; ++channel) {
    write_pattern(pattern, channel, format, pixels.data() + channel * format.height * format.width);
  }
  add_noise(CounterRandom(seed_, kSyntheticNoiseStream, static_cast<std::uint32_t>(index)), pixels);
}

}  // namespace vdnn
