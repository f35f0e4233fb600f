#include "device/cuda/host_tier.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/free_memory.h"
#include "vdnn/bytes.h"
#include "vdnn/error.h"

namespace vdnn::cuda {
namespace {

constexpr std::int64_t kGranuleBytes = 4096;

class HostTier : public Tier {
 public:
  explicit HostTier(Runtime& runtime) : runtime_(runtime) {}

  [[nodiscard]] std::string description() const override {
    if (!memory_ || memory_->is_pinned()) return "host memory, pinned";
    return fmt::format("host memory, warning: not pinned, so copies are slower: {}", memory_->why_not());
  }
  [[nodiscard]] std::int64_t granule_bytes() const override { return kGranuleBytes; }

  void reserve(std::int64_t bytes) override {
    if (bytes < 0) throw StorageError(fmt::format("host memory: cannot reserve {} bytes", bytes));
    if (bytes <= reserved_bytes()) return;
    if (const std::int64_t free = free_memory_bytes(); bytes > free) {
      throw StorageError(fmt::format("host memory: cannot reserve {}, {} are free; lower --host-memory",
                                     format_bytes(bytes), format_bytes(free)));
    }
    auto larger = std::make_unique<HostMemory>(runtime_, round_up(bytes, kGranuleBytes));
    if (memory_) std::memcpy(larger->data(), memory_->data(), static_cast<std::size_t>(memory_->bytes()));
    memory_ = std::move(larger);
  }

  void write(std::int64_t offset_bytes, std::span<const std::byte> source) override {
    check(offset_bytes, source.size());
    if (!source.empty()) std::memcpy(memory_->data() + offset_bytes, source.data(), source.size());
  }

  void read(std::int64_t offset_bytes, std::span<std::byte> destination) override {
    check(offset_bytes, destination.size());
    if (!destination.empty())
      std::memcpy(destination.data(), memory_->data() + offset_bytes, destination.size());
  }

  [[nodiscard]] std::byte* device_visible(std::int64_t offset_bytes) override {
    return memory_ && memory_->is_pinned() ? memory_->data() + offset_bytes : nullptr;
  }

 private:
  [[nodiscard]] std::int64_t reserved_bytes() const { return memory_ ? memory_->bytes() : 0; }

  void check(std::int64_t offset_bytes, std::size_t bytes) const {
    const auto size = static_cast<std::int64_t>(bytes);
    if (offset_bytes >= 0 && size <= reserved_bytes() && offset_bytes <= reserved_bytes() - size) return;
    throw StorageError(fmt::format("host memory: {} bytes at offset {} are outside the {} reserved", size,
                                   offset_bytes, reserved_bytes()));
  }

  Runtime& runtime_;
  std::unique_ptr<HostMemory> memory_;
};

}  // namespace

std::unique_ptr<Tier> make_host_tier(Runtime& runtime) {
  return std::make_unique<HostTier>(runtime);
}

}  // namespace vdnn::cuda
