#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "device/cuda/layout.h"
#include "support/random_draws.h"

namespace vdnn::cuda::testing {

using vdnn::testing::RandomDraws;
using Values = std::vector<double>;  // row-major
using Memory = std::vector<float>;   // as a layout lays them

inline constexpr std::array<bool, 2> kChannelsLast = {false, true};

// Small enough that float32 and double agree on which of them are equal.
inline Values random_values(RandomDraws& draws, std::int64_t count) {
  Values values;
  for (std::int64_t i = 0; i < count; ++i) {
    values.push_back(static_cast<double>(draws.between(-4096, 4096)) / 1024);
  }
  return values;
}

inline Memory lay(const Values& values, const Layout& layout) {
  Memory memory(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    memory.at(static_cast<std::size_t>(layout.offset(static_cast<std::int64_t>(i)))) =
        static_cast<float>(values[i]);
  }
  return memory;
}

inline Memory flat(const Values& values) {
  return {values.begin(), values.end()};
}

// Memory that nothing has been written to yet.
inline Memory unwritten(std::int64_t count) {
  return Memory(static_cast<std::size_t>(count), std::nanf(""));
}

template <class T>
Values read_back(const std::vector<T>& memory, const Layout& layout) {
  Values values;
  for (std::size_t i = 0; i < memory.size(); ++i) {
    values.push_back(static_cast<double>(
        memory.at(static_cast<std::size_t>(layout.offset(static_cast<std::int64_t>(i))))));
  }
  return values;
}

template <class T>
Values as_values(const std::vector<T>& memory) {
  return {memory.begin(), memory.end()};
}

// What the GPU does, one after the other and from the end, as no order is promised.
template <class Element>
void run_elements(const Element& element, std::int64_t count) {
  for (std::int64_t i = count - 1; i >= 0; --i) element(i);
}

// Within a few roundings of float32 for sums of a few values.
inline void expect_near(const Values& seen, const Values& expected, const std::string& what,
                        double tolerance = 4e-6) {
  ASSERT_EQ(seen.size(), expected.size()) << what;
  for (std::size_t i = 0; i < seen.size(); ++i) {
    ASSERT_NEAR(seen[i], expected[i], tolerance * (1 + std::abs(expected[i]))) << what << " [" << i << "]";
  }
}

}  // namespace vdnn::cuda::testing
