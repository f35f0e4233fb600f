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
  const bool replace =
      !std::filesystem::exists(path, ignored) || std::filesystem::is_regular_file(path, ignored);
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
  if (replace && std::rename(target.c_str(), path.c_str()) != 0) fail();
}

}  // namespace vdnn
