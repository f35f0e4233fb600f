#include "tier/memory_tier.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstring>
#include <new>
#include <vector>

#include "tier/transfer_range.h"
#include "vdnn/bytes.h"
#include "vdnn/error.h"

namespace vdnn {
namespace {

constexpr std::int64_t kGranuleBytes = 64;
constexpr const char* kName = "host memory";

std::int64_t installed_bytes() {
  return static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES)) *
         static_cast<std::int64_t>(sysconf(_SC_PAGESIZE));
}

class MemoryTier : public Tier {
 public:
  [[nodiscard]] std::string description() const override { return kName; }
  [[nodiscard]] std::int64_t granule_bytes() const override { return kGranuleBytes; }

  void reserve(std::int64_t bytes) override {
    if (bytes < 0) throw StorageError(fmt::format("{}: cannot reserve {} bytes", kName, bytes));
    if (bytes <= reserved_bytes()) return;
    // The allocator may promise more than there is, and the kernel kills whoever touches it.
    if (bytes > installed_bytes()) refuse(bytes);
    try {
      bytes_.resize(static_cast<std::size_t>(bytes));
    } catch (const std::bad_alloc&) {
      refuse(bytes);
    }
  }

  void write(std::int64_t offset_bytes, std::span<const std::byte> source) override {
    check_transfer(kName, reserved_bytes(), kGranuleBytes, offset_bytes, source);
    if (!source.empty()) std::memcpy(bytes_.data() + offset_bytes, source.data(), source.size());
  }

  void read(std::int64_t offset_bytes, std::span<std::byte> destination) override {
    check_transfer(kName, reserved_bytes(), kGranuleBytes, offset_bytes, destination);
    if (!destination.empty())
      std::memcpy(destination.data(), bytes_.data() + offset_bytes, destination.size());
  }

 private:
  [[nodiscard]] std::int64_t reserved_bytes() const { return static_cast<std::int64_t>(bytes_.size()); }

  [[noreturn]] static void refuse(std::int64_t bytes) {
    throw StorageError(
        fmt::format("{}: cannot reserve {} ({} bytes), the machine has {}; offload to disk with --spill DIR",
                    kName, format_bytes(bytes), bytes, format_bytes(installed_bytes())));
  }

  std::vector<std::byte> bytes_;
};

}  // namespace

std::unique_ptr<Tier> make_memory_tier() {
  return std::make_unique<MemoryTier>();
}

}  // namespace vdnn
