#include "train/initialize.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/counter_random.h"

namespace vdnn {
namespace {

constexpr std::uint32_t kInitializationStep = 0xffffffff;  // no training step gets that far

// Box-Muller: two independent draws for every value, so that any piece can be made alone.
float normal(const CounterRandom& random, std::uint64_t element) {
  const auto draws = random.draws(element);
  const double u = (static_cast<double>(draws[0]) + 1) * 0x1.0p-32;
  const double v = static_cast<double>(draws[1]) * 0x1.0p-32;
  return static_cast<float>(std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v));
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
    case Initializer::he_normal: {
      const auto scale = static_cast<float>(std::sqrt(2.0 / static_cast<double>(parameter.fan_in)));
      for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = scale * normal(random, static_cast<std::uint64_t>(first) + i);
      }
      return;
    }
    case Initializer::glorot_uniform: {
      const auto limit =
          static_cast<float>(std::sqrt(6.0 / static_cast<double>(parameter.fan_in + parameter.fan_out)));
      for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = limit * (2 * random.uniform(static_cast<std::uint64_t>(first) + i) - 1);
      }
      return;
    }
  }
}

}  // namespace vdnn
