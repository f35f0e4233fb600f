#pragma once

#include <cstdint>

namespace vdnn {

// Streams of CounterRandom that belong to data, counted from the top: ops of a graph, which draw with the
// same seed, number theirs from 0.
inline constexpr std::uint32_t kShuffleStream = 0xFFFFFFFF;
inline constexpr std::uint32_t kSyntheticLabelStream = 0xFFFFFFFE;
inline constexpr std::uint32_t kSyntheticPatternStream = 0xFFFFFFFD;
inline constexpr std::uint32_t kSyntheticNoiseStream = 0xFFFFFFFC;

}  // namespace vdnn
