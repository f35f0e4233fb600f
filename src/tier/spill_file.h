#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "base/unique_fd.h"

namespace vdnn {

enum class DirectIo { kActive, kUnsupported, kDeclined };

// An open file without a name: nobody else can reach it, and its room is given back when the last
// descriptor closes, however the process ends.
class SpillFile {
 public:
  // Throws StorageError that names the directory, the system's reason and what would help.
  static SpillFile open(const std::string& directory, bool allow_direct);

  // Makes the file at least `bytes` long, with room on the disk for all of it. Asking again grows it;
  // fewer bytes than before change nothing. Throws StorageError, with the file as it was, if the room is
  // not there.
  void reserve(std::int64_t bytes);

  [[nodiscard]] int fd() const { return fd_.get(); }
  [[nodiscard]] const std::string& directory() const { return directory_; }
  [[nodiscard]] DirectIo direct_io() const { return direct_io_; }
  // "tmpfs" or "ramfs" where the directory is no disk at all, else empty.
  [[nodiscard]] const std::string& memory_file_system() const { return memory_file_system_; }
  // False where the file system cannot set room aside: another program may still take it.
  [[nodiscard]] bool room_is_certain() const { return room_is_certain_; }

 private:
  SpillFile(UniqueFd fd, std::string directory) : fd_(std::move(fd)), directory_(std::move(directory)) {}

  UniqueFd fd_;
  std::string directory_;
  DirectIo direct_io_ = DirectIo::kDeclined;
  std::string memory_file_system_;
  bool room_is_certain_ = true;
  std::int64_t size_bytes_ = 0;
};

}  // namespace vdnn
