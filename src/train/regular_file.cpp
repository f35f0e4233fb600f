#include "train/regular_file.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "vdnn/error.h"

namespace vdnn {

std::int64_t regular_file_bytes(const std::string& path, const std::string& advice) {
  const std::string help = advice.empty() ? "" : "; " + advice;
  struct stat status = {};
  if (::stat(path.c_str(), &status) != 0) {
    throw StorageError(fmt::format("cannot read {}: {}{}", path, std::strerror(errno), help));
  }
  if (!S_ISREG(status.st_mode)) throw StorageError(fmt::format("{} is not a regular file{}", path, help));
  return status.st_size;
}

}  // namespace vdnn
