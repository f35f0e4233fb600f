#include "device/host/arena.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "vdnn/bytes.h"
#include "vdnn/error.h"

namespace vdnn {
namespace {

constexpr std::int64_t kHugePageBytes = 2 * kMiB;

std::int64_t page_bytes() {
  return sysconf(_SC_PAGESIZE);
}

}  // namespace

HostArena::HostArena(std::int64_t budget_bytes, std::int64_t planned_bytes) {
  const std::int64_t page = page_bytes();
  usable_bytes_ = static_cast<std::size_t>(round_up(budget_bytes, page));
  mapping_bytes_ = usable_bytes_ + static_cast<std::size_t>(kHugePageBytes + page);
  void* mapping = mmap(nullptr, mapping_bytes_, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) {
    throw DeviceError(fmt::format("cannot map an arena of {}: {}; lower --memory", format_bytes(budget_bytes),
                                  std::strerror(errno)));
  }
  mapping_ = static_cast<std::byte*>(mapping);
  const auto address = reinterpret_cast<std::uintptr_t>(mapping_);
  data_ = mapping_ + (kHugePageBytes - static_cast<std::int64_t>(address % kHugePageBytes)) % kHugePageBytes;
  mprotect(data_ + usable_bytes_, static_cast<std::size_t>(page), PROT_NONE);
  try {
    make_resident(round_up(planned_bytes, page));
  } catch (...) {
    munmap(mapping_, mapping_bytes_);
    throw;
  }
}

HostArena::~HostArena() {
  munmap(mapping_, mapping_bytes_);
}

void HostArena::make_resident(std::int64_t bytes) {
  // Huge pages make address translation and the pinning of copies cheaper. They stop short of the
  // planned end, so that residency stays exact to the small page.
  const auto huge = static_cast<std::size_t>(bytes / kHugePageBytes * kHugePageBytes);
  if (huge > 0) madvise(data_, huge, MADV_HUGEPAGE);
  if (huge < usable_bytes_) madvise(data_ + huge, usable_bytes_ - huge, MADV_NOHUGEPAGE);
#ifdef MADV_POPULATE_WRITE
  if (madvise(data_, static_cast<std::size_t>(bytes), MADV_POPULATE_WRITE) == 0) return;
  if (errno == ENOMEM) {
    throw DeviceError(fmt::format("no memory for an arena of {}: {}; lower --memory", format_bytes(bytes),
                                  std::strerror(errno)));
  }
#endif
  for (std::int64_t at = 0; at < bytes; at += page_bytes()) data_[at] = std::byte{0};
}

std::int64_t HostArena::resident_extent_bytes() const {
  const auto page = static_cast<std::size_t>(page_bytes());
  std::vector<unsigned char> resident(usable_bytes_ / page);
  if (mincore(data_, usable_bytes_, resident.data()) != 0) {
    throw DeviceError(
        fmt::format("cannot see which pages of the arena are resident: {}", std::strerror(errno)));
  }
  for (std::size_t i = resident.size(); i > 0; --i) {
    if ((resident[i - 1] & 1) != 0) return static_cast<std::int64_t>(i * page);
  }
  return 0;
}

}  // namespace vdnn
