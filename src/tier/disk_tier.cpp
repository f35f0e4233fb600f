#include "tier/disk_tier.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <system_error>
#include <utility>

#include "tier/chunked_transfer.h"
#include "tier/io_uring_queue.h"
#include "tier/synchronous_queue.h"
#include "tier/transfer_range.h"
#include "vdnn/bytes.h"
#include "vdnn/error.h"

namespace vdnn {
namespace {

// The page of x86 and the largest logical block of common disks: what O_DIRECT asks for.
constexpr std::int64_t kGranuleBytes = 4096;

std::string spill_directory(const DiskTierOptions& options) {
  if (!options.directory.empty()) return options.directory;
  const char* from_environment = std::getenv("VDNN_SPILL");
  if (from_environment != nullptr && *from_environment != '\0') return from_environment;
  return "/var/tmp";
}

}  // namespace

std::unique_ptr<RequestQueue> open_request_queue(const SpillFile& file, bool allow_io_uring,
                                                 std::string& method) {
  if (file.direct_io() != DirectIo::kActive) {
    const char* why =
        file.direct_io() == DirectIo::kUnsupported ? "O_DIRECT not supported here" : "O_DIRECT not asked for";
    method = fmt::format("pread/pwrite through the page cache ({})", why);
    return std::make_unique<SynchronousQueue>(file.fd(), PageCache::drop_behind);
  }
  std::string why = "io_uring not asked for";
  if (allow_io_uring) {
    int error_number = 0;
    auto ring = IoUringQueue::open(file.fd(), error_number);
    if (ring != nullptr) {
      method = "io_uring, direct";
      return ring;
    }
    why = fmt::format("io_uring not available: {}", std::generic_category().message(error_number));
  }
  method = fmt::format("pread/pwrite, direct ({})", why);
  return std::make_unique<SynchronousQueue>(file.fd(), PageCache::bypassed);
}

DiskTier::DiskTier(SpillFile file, std::unique_ptr<RequestQueue> writes, std::unique_ptr<RequestQueue> reads,
                   std::string method)
    : file_(std::move(file)), method_(std::move(method)) {
  writes_.queue = std::move(writes);
  reads_.queue = std::move(reads);
}

std::string DiskTier::description() const {
  std::string text = fmt::format("disk {}, {}", file_.directory(), method_);
  if (!file_.memory_file_system().empty()) {
    text += fmt::format(", warning: this directory is in memory ({})", file_.memory_file_system());
  }
  if (!file_.room_is_certain()) text += ", warning: this file system cannot set room aside";
  return text;
}

std::int64_t DiskTier::granule_bytes() const {
  return kGranuleBytes;
}

void DiskTier::reserve(std::int64_t bytes) {
  // Beyond any file system; rounding up would overflow.
  if (bytes > std::numeric_limits<std::int64_t>::max() - kGranuleBytes) {
    throw StorageError(
        fmt::format("cannot reserve {} bytes in '{}': larger than any file", bytes, file_.directory()));
  }
  file_.reserve(bytes < 0 ? bytes : round_up(bytes, kGranuleBytes));
  reserved_bytes_ = std::max(reserved_bytes_, bytes);
}

void DiskTier::write(std::int64_t offset_bytes, std::span<const std::byte> source) {
  check_transfer(description(), reserved_bytes_, kGranuleBytes, offset_bytes, source);
  // Writing only reads from the memory; the requests of both directions share one type.
  auto* memory = const_cast<std::byte*>(source.data());
  transfer(writes_, {Direction::kWrite, memory, static_cast<std::int64_t>(source.size()), offset_bytes});
}

void DiskTier::read(std::int64_t offset_bytes, std::span<std::byte> destination) {
  check_transfer(description(), reserved_bytes_, kGranuleBytes, offset_bytes, destination);
  transfer(reads_, {Direction::kRead, destination.data(), static_cast<std::int64_t>(destination.size()),
                    offset_bytes});
}

void DiskTier::transfer(Lane& lane, const FileRequest& whole) {
  const std::lock_guard lock(lane.mutex);
  transfer_in_chunks(*lane.queue, whole, kGranuleBytes,
                     fmt::format("the spill file in '{}'", file_.directory()));
}

std::unique_ptr<Tier> open_disk_tier(const DiskTierOptions& options) {
  SpillFile file = SpillFile::open(spill_directory(options), options.allow_direct);
  std::string write_method;
  std::string read_method;
  auto writes = open_request_queue(file, options.allow_io_uring, write_method);
  auto reads = open_request_queue(file, options.allow_io_uring, read_method);
  // Rings share the locked-memory limit, so the second may be refused where the first was not.
  const std::string method = write_method == read_method
                                 ? write_method
                                 : fmt::format("writes {}; reads {}", write_method, read_method);
  return std::make_unique<DiskTier>(std::move(file), std::move(writes), std::move(reads), method);
}

}  // namespace vdnn
