#include "vdnn/whole_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "vdnn/error.h"

namespace vdnn {

void write_whole_file(const std::string& path, std::string_view content) {
  std::error_code ignored;
  const auto status = std::filesystem::symlink_status(path, ignored);
  const bool exists = std::filesystem::exists(status);
  const bool replace = !exists || std::filesystem::is_regular_file(status);
  const std::string target = replace ? fmt::format("{}.{}.tmp", path, getpid()) : path;
  const auto fail = [&] {
    const int reason = errno;
    if (replace) std::filesystem::remove(target, ignored);
    throw StorageError(fmt::format("cannot write {}: {}", path, std::strerror(reason)));
  };
  {
    std::ofstream file(target, std::ios::binary);
    file.write(content.data(), static_cast<std::streamsize>(content.size()));
    if (!file.flush()) fail();
  }
  if (replace && exists) std::filesystem::permissions(target, status.permissions(), ignored);
  if (replace && std::rename(target.c_str(), path.c_str()) != 0) fail();
}

std::string read_whole_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string content;
  char buffer[65536];
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    errno = EISDIR;
    file.setstate(std::ios::failbit);
  }
  while (file.read(buffer, sizeof(buffer)) || file.gcount() > 0)
    content.append(buffer, static_cast<std::size_t>(file.gcount()));
  if (!file.eof()) throw StorageError(fmt::format("cannot read {}: {}", path, std::strerror(errno)));
  return content;
}

}  // namespace vdnn
