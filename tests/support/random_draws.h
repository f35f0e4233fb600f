#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>

#include "base/counter_random.h"

namespace vdnn::testing {

// Random choices, one after the other; the same on every machine.
class RandomDraws {
 public:
  explicit RandomDraws(std::uint64_t seed) : random_(seed, 0x7e57, 0) {}

  // In [0, count).
  std::int64_t below(std::int64_t count) { return static_cast<std::int64_t>(random_.draw(next_++)) % count; }
  std::int64_t between(std::int64_t least, std::int64_t most) { return least + below(most - least + 1); }
  bool chance(double probability) { return random_.uniform(next_++) < probability; }

  template <class T>
  const T& one_of(std::span<const T> choices) {
    return choices[static_cast<std::size_t>(below(static_cast<std::int64_t>(choices.size())))];
  }
  template <class T>
  T one_of(std::initializer_list<T> choices) {
    return one_of(std::span<const T>(choices.begin(), choices.size()));
  }

 private:
  CounterRandom random_;
  std::uint64_t next_ = 0;
};

}  // namespace vdnn::testing
