#include "tier/spill_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

#include "vdnn/bytes.h"
#include "vdnn/error.h"

namespace vdnn {
namespace {

constexpr std::size_t kProbeBytes = 4096;

std::string error_text(int error_number) {
  return std::generic_category().message(error_number);
}

[[noreturn]] void refuse_directory(const std::string& directory, int error_number) {
  throw StorageError(
      fmt::format("cannot spill to directory '{}': {}; name a writable directory with --spill DIR", directory,
                  error_text(error_number)));
}

void check_is_directory(const std::string& directory) {
  struct stat status {};
  if (stat(directory.c_str(), &status) != 0) refuse_directory(directory, errno);
  if (!S_ISDIR(status.st_mode)) refuse_directory(directory, ENOTDIR);
}

UniqueFd open_named_and_unlink(const std::string& directory) {
  std::string path = directory + "/vdnn-spill-XXXXXX";
  UniqueFd fd(mkostemp(path.data(), O_CLOEXEC));
  if (!fd.valid()) refuse_directory(directory, errno);
  if (unlink(path.c_str()) != 0) refuse_directory(directory, errno);
  return fd;
}

UniqueFd open_without_name(const std::string& directory) {
  UniqueFd fd(::open(directory.c_str(), O_TMPFILE | O_EXCL | O_RDWR | O_CLOEXEC, 0600));
  if (fd.valid()) return fd;
  // What kernels and file systems without O_TMPFILE say.
  const bool unsupported = errno == EOPNOTSUPP || errno == EISDIR || errno == ENOENT || errno == EINVAL;
  if (!unsupported) refuse_directory(directory, errno);
  return open_named_and_unlink(directory);
}

// Some file systems take the flag and refuse the transfers, so one granule is written to find out. It
// lies at an odd multiple of its size, which also finds disks that want coarser alignment.
bool direct_write_works(int fd) {
  const std::unique_ptr<void, decltype(&std::free)> block(
      std::aligned_alloc(2 * kProbeBytes, 2 * kProbeBytes), &std::free);
  if (!block) return true;
  std::byte* const memory = static_cast<std::byte*>(block.get()) + kProbeBytes;
  std::fill_n(memory, kProbeBytes, std::byte{0});
  const ssize_t written = pwrite(fd, memory, kProbeBytes, kProbeBytes);
  const bool refused = written < 0 && (errno == EINVAL || errno == EOPNOTSUPP);
  return ftruncate(fd, 0) == 0 && !refused;
}

// Set after opening, not while: open() with O_CREAT and O_DIRECT leaves a file behind where it fails.
DirectIo activate_direct_io(int fd) {
  const int flags = fcntl(fd, F_GETFL);
  if (flags < 0 || fcntl(fd, F_SETFL, flags | O_DIRECT) != 0) return DirectIo::kUnsupported;
  if (direct_write_works(fd)) return DirectIo::kActive;
  fcntl(fd, F_SETFL, flags);
  return DirectIo::kUnsupported;
}

std::string memory_file_system_of(int fd) {
  struct statfs status {};
  if (fstatfs(fd, &status) != 0) return "";
  if (status.f_type == TMPFS_MAGIC) return "tmpfs";
  if (status.f_type == RAMFS_MAGIC) return "ramfs";
  return "";
}

// Empty where the file system sets no limit or does not tell.
std::optional<std::int64_t> free_bytes_of(int fd) {
  struct statvfs status {};
  if (fstatvfs(fd, &status) != 0 || status.f_blocks == 0) return std::nullopt;
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(status.f_bavail, status.f_frsize, &bytes)) return std::nullopt;
  return bytes;
}

// Zero, or the errno. posix_fallocate() would write every block where the file system cannot.
int allocate_room(int fd, std::int64_t from_bytes, std::int64_t size_bytes) {
  int result = 0;
  do {
    result = fallocate(fd, 0, from_bytes, size_bytes) == 0 ? 0 : errno;
  } while (result == EINTR);
  return result;
}

}  // namespace

SpillFile SpillFile::open(const std::string& directory, bool allow_direct) {
  check_is_directory(directory);
  SpillFile file(open_without_name(directory), directory);
  file.memory_file_system_ = memory_file_system_of(file.fd());
  if (allow_direct) file.direct_io_ = activate_direct_io(file.fd());
  // Read-ahead would leave pages behind that no transfer drops.
  if (file.direct_io_ != DirectIo::kActive) posix_fadvise(file.fd(), 0, 0, POSIX_FADV_RANDOM);
  return file;
}

void SpillFile::reserve(std::int64_t bytes) {
  if (bytes < 0) throw StorageError(fmt::format("cannot reserve {} bytes in '{}'", bytes, directory_));
  if (bytes <= size_bytes_) return;
  const std::int64_t missing = bytes - size_bytes_;
  const std::optional<std::int64_t> free = free_bytes_of(fd());
  int error_number = ENOSPC;
  // Asked first, so that a reservation that must fail does not fill the disk on the way.
  if (!free || missing <= *free) {
    error_number = allocate_room(fd(), size_bytes_, missing);
    if (error_number == EOPNOTSUPP || error_number == ENOSYS) {
      room_is_certain_ = false;
      error_number = ftruncate(fd(), bytes) == 0 ? 0 : errno;
    }
  }
  if (error_number == 0) {
    size_bytes_ = bytes;
    return;
  }
  const bool undone = ftruncate(fd(), size_bytes_) == 0;
  throw StorageError(
      fmt::format("cannot reserve {} ({} bytes) in '{}': {}; free there: {}{}; free some room or name a "
                  "directory with more of it "
                  "with --spill DIR",
                  format_bytes(missing), missing, directory_, error_text(error_number),
                  free ? fmt::format("{} ({} bytes)", format_bytes(*free), *free) : "unknown",
                  undone ? "" : " (part of it stays taken until vdnn ends)"));
}

}  // namespace vdnn
