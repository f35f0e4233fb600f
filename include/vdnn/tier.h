#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace vdnn {

// Memory below a device: slower, larger, addressed by offset. Host memory that buffers are copied to
// and from belongs to the caller and must stay valid until the call returns.
//
// Threads: reserve() first, alone. Then one thread may write while another reads, on disjoint ranges.
// Errors: StorageError with path, offset, bytes and the system's reason. After an error the tier
// stays usable for other ranges; what the failed range holds is unknown.
class Tier {
 public:
  virtual ~Tier() = default;

  // One line for people: kind, where, how it does its transfers, and why not better if so.
  [[nodiscard]] virtual std::string description() const = 0;

  // Offsets, sizes and host addresses of every transfer are multiples of this.
  [[nodiscard]] virtual std::int64_t granule_bytes() const = 0;

  // Makes offsets [0, bytes) usable and fails now rather than later if the room is not there.
  virtual void reserve(std::int64_t bytes) = 0;

  // Copies source to [offset_bytes, offset_bytes + source.size()); returns when it is all there.
  virtual void write(std::int64_t offset_bytes, std::span<const std::byte> source) = 0;

  // Copies [offset_bytes, offset_bytes + destination.size()) to destination; returns when it is all there.
  virtual void read(std::int64_t offset_bytes, std::span<std::byte> destination) = 0;

  // Where the bytes at an offset lie in memory that a device with memory of its own copies to and from by
  // itself, in one piece with all that is reserved; null for tiers that only the calls above reach.
  [[nodiscard]] virtual std::byte* device_visible(std::int64_t offset_bytes) {
    static_cast<void>(offset_bytes);
    return nullptr;
  }
};

struct DiskTierOptions {
  std::string directory;       // empty: $VDNN_SPILL, else /var/tmp
  bool allow_io_uring = true;  // false: pread and pwrite
  bool allow_direct = true;    // false: through the page cache, dropped behind each transfer
};

// A disk file that nobody else can see and that is gone when the process ends, however it ends.
std::unique_ptr<Tier> open_disk_tier(const DiskTierOptions& options);

}  // namespace vdnn
