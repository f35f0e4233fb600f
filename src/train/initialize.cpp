#include "train/initialize.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "base/counter_random.h"

namespace vdnn {
namespace {

constexpr std::uint32_t kInitializationStep = 0xffffffff;  // no training step gets that far

constexpr std::int64_t kBlock = 4;  // values of one call of the generator
using Block = std::array<float, kBlock>;

// Four values of the normal distribution by Box and Muller ("A note on the generation of random normal
// deviates", 1958): two draws make two of them.
Block normal_block(const std::array<std::uint32_t, 4>& draws) {
  Block values;
  for (std::size_t pair = 0; pair < values.size(); pair += 2) {
    const float u = (static_cast<float>(draws[pair]) + 1) * 0x1.0p-32F;
    const float angle = 2 * std::numbers::pi_v<float> * 0x1.0p-32F * static_cast<float>(draws[pair + 1]);
    const float radius = std::sqrt(-2 * std::log(std::min(u, 1.0F)));
    values[pair] = radius * std::cos(angle);
    values[pair + 1] = radius * std::sin(angle);
  }
  return values;
}

// Uniform in [-1, 1).
Block uniform_block(const std::array<std::uint32_t, 4>& draws) {
  Block values;
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(draws[i] >> 8) * 0x1.0p-23F - 1;
  return values;
}

// values[i] = scale * (value first + i of the sequence of blocks); any piece can be made alone.
template <class MakeBlock>
void fill_blocks(const CounterRandom& random, double scale, std::int64_t first, std::span<float> values,
                 MakeBlock&& make) {
  const auto factor = static_cast<float>(scale);
  Block block{};
  std::int64_t made = -1;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::int64_t element = first + static_cast<std::int64_t>(i);
    if (element / kBlock != made) {
      made = element / kBlock;
      block = make(random.draws(static_cast<std::uint64_t>(made)));
    }
    values[i] = factor * block[static_cast<std::size_t>(element % kBlock)];
  }
}

}  // namespace

void initial_values(const Parameter& parameter, std::uint64_t seed, std::uint32_t stream, std::int64_t first,
                    std::span<float> values) {
  const CounterRandom random(seed, stream, kInitializationStep);
  switch (parameter.initializer) {
    case Initializer::zeros:
      std::fill(values.begin(), values.end(), 0.0F);
      return;
    case Initializer::ones:
      std::fill(values.begin(), values.end(), 1.0F);
      return;
    case Initializer::he_normal:
      fill_blocks(random, parameter.gain * std::sqrt(2.0 / static_cast<double>(parameter.fan_in)), first,
                  values, normal_block);
      return;
    case Initializer::glorot_uniform: {
      const auto fans = static_cast<double>(parameter.fan_in + parameter.fan_out);
      fill_blocks(random, parameter.gain * std::sqrt(6.0 / fans), first, values, uniform_block);
      return;
    }
  }
}

}  // namespace vdnn
