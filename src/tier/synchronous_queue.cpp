#include "tier/synchronous_queue.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace vdnn {
namespace {

// Dirty pages cannot be dropped, and an error of writing them back shows only here.
int write_back(int fd, std::int64_t offset_bytes, std::int64_t size_bytes) {
  constexpr unsigned kStartAndWait =
      SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;
  if (sync_file_range(fd, offset_bytes, size_bytes, kStartAndWait) == 0) return 0;
  const bool unsupported = errno == ENOSYS || errno == EINVAL || errno == ESPIPE;
  if (unsupported && fdatasync(fd) == 0) return 0;
  return -errno;
}

std::int64_t drop_behind(int fd, const FileRequest& request, std::int64_t moved) {
  if (request.direction == Direction::kWrite) {
    const int result = write_back(fd, request.offset_bytes, moved);
    if (result != 0) return result;
  }
  // Advice: where it is not taken, the bytes are still right.
  posix_fadvise(fd, request.offset_bytes, moved, POSIX_FADV_DONTNEED);
  return moved;
}

}  // namespace

void SynchronousQueue::submit(int slot, const FileRequest& request) noexcept {
  const auto size = static_cast<std::size_t>(request.size_bytes);
  const ssize_t moved = request.direction == Direction::kWrite
                            ? pwrite(fd_, request.memory, size, request.offset_bytes)
                            : pread(fd_, request.memory, size, request.offset_bytes);
  std::int64_t result = moved < 0 ? -errno : moved;
  if (result > 0 && page_cache_ == PageCache::drop_behind) result = drop_behind(fd_, request, result);
  completion_ = {slot, result};
}

}  // namespace vdnn
