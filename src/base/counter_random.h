#pragma once

#include <array>
#include <cstdint>

namespace vdnn {

// Philox4x32-10, the counter-based generator of Salmon et al., "Parallel random numbers: as easy as
// 1, 2, 3" (SC 2011). A draw is a function of (key, counter) alone, so that results depend neither on
// execution order nor on threads, and host and device code can share it.
constexpr std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter,
                                              std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product0 = std::uint64_t{0xD2511F53} * counter[0];
    const std::uint64_t product1 = std::uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<std::uint32_t>(product1 >> 32) ^ counter[1] ^ key[0],
               static_cast<std::uint32_t>(product1),
               static_cast<std::uint32_t>(product0 >> 32) ^ counter[3] ^ key[1],
               static_cast<std::uint32_t>(product0)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter;
}

// A stream of random numbers named by (seed, stream, step). Thread-safe: it has no state.
class CounterRandom {
 public:
  constexpr CounterRandom(std::uint64_t seed, std::uint32_t stream, std::uint32_t step)
      : key_{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)},
        stream_(stream),
        step_(step) {}

  // Four 32-bit draws for block `index`; element i of a sequence is draws(i / 4)[i % 4].
  [[nodiscard]] constexpr std::array<std::uint32_t, 4> draws(std::uint64_t index) const {
    return philox({static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(index >> 32) ^ 0x5bd1e995U,
                   stream_, step_},
                  key_);
  }

  [[nodiscard]] constexpr std::uint32_t draw(std::uint64_t element) const {
    return draws(element / 4)[element % 4];
  }

  // Uniform in [0, 1) with 24 bits.
  [[nodiscard]] constexpr float uniform(std::uint64_t element) const {
    return static_cast<float>(draw(element) >> 8) * 0x1.0p-24F;
  }

 private:
  std::array<std::uint32_t, 2> key_;
  std::uint32_t stream_;
  std::uint32_t step_;
};

}  // namespace vdnn
