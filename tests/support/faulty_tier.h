#pragma once

#include <fmt/format.h>

#include <atomic>
#include <memory>
#include <string>

#include "tier/memory_tier.h"
#include "vdnn/error.h"

namespace vdnn::testing {

// Host memory that counts its transfers and fails one write or read.
class FaultyTier : public Tier {
 public:
  // From 1; 0: none.
  struct Faults {
    int write = 0;
    int read = 0;
  };

  FaultyTier() = default;
  explicit FaultyTier(const Faults& faults) : faults_(faults) {}

  [[nodiscard]] std::string description() const override { return "memory for tests"; }
  [[nodiscard]] std::int64_t granule_bytes() const override { return memory_->granule_bytes(); }
  void reserve(std::int64_t bytes) override { memory_->reserve(bytes); }

  void write(std::int64_t offset_bytes, std::span<const std::byte> source) override {
    if (++writes_ == faults_.write) throw StorageError(fmt::format("write {} fails", faults_.write));
    memory_->write(offset_bytes, source);
  }
  void read(std::int64_t offset_bytes, std::span<std::byte> destination) override {
    if (++reads_ == faults_.read) throw StorageError(fmt::format("read {} fails", faults_.read));
    memory_->read(offset_bytes, destination);
  }

  [[nodiscard]] int writes() const { return writes_; }
  [[nodiscard]] int reads() const { return reads_; }

 private:
  std::unique_ptr<Tier> memory_ = make_memory_tier();
  Faults faults_;
  std::atomic<int> writes_ = 0;
  std::atomic<int> reads_ = 0;
};

}  // namespace vdnn::testing
