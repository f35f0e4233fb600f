#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <random>
#include <span>

namespace vdnn::testing {

// Host memory at a page boundary, as an arena has it; zeros at first.
class AlignedBytes {
 public:
  explicit AlignedBytes(std::int64_t size_bytes) : size_(static_cast<std::size_t>(size_bytes)) {
    constexpr std::size_t kAlignment = 4096;
    const std::size_t padded = (size_ + kAlignment) / kAlignment * kAlignment;
    memory_.reset(static_cast<std::byte*>(std::aligned_alloc(kAlignment, padded)));
    if (memory_ == nullptr) throw std::bad_alloc();
    std::fill_n(memory_.get(), padded, std::byte{0});
  }

  [[nodiscard]] std::span<std::byte> span() { return {memory_.get(), size_}; }
  [[nodiscard]] std::span<std::byte> span(std::int64_t offset_bytes, std::int64_t size_bytes) {
    return span().subspan(static_cast<std::size_t>(offset_bytes), static_cast<std::size_t>(size_bytes));
  }

  friend bool operator==(const AlignedBytes& a, const AlignedBytes& b) {
    return std::equal(a.memory_.get(), a.memory_.get() + a.size_, b.memory_.get(), b.memory_.get() + b.size_);
  }

 private:
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };

  std::size_t size_;
  std::unique_ptr<std::byte, Free> memory_;
};

inline AlignedBytes random_bytes(std::int64_t size_bytes, std::uint64_t seed) {
  AlignedBytes bytes(size_bytes);
  std::mt19937_64 random(seed);
  std::span<std::byte> rest = bytes.span();
  while (!rest.empty()) {
    const std::uint64_t word = random();
    const std::size_t taken = std::min(rest.size(), sizeof(word));
    std::memcpy(rest.data(), &word, taken);
    rest = rest.subspan(taken);
  }
  return bytes;
}

}  // namespace vdnn::testing
