#include "base/free_memory.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>

namespace vdnn {
namespace {

constexpr std::int64_t kUnknown = std::numeric_limits<std::int64_t>::max();

// "Key:   123 kB" lines, as /proc has them.
std::int64_t kilobytes_field(const char* path, const std::string& key, std::int64_t otherwise) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.rfind(key + ":", 0) != 0) continue;
    std::istringstream words(line.substr(key.size() + 1));
    std::int64_t value = 0;
    if (words >> value) return value * 1024;
  }
  return otherwise;
}

std::int64_t number_in(const std::string& path) {
  std::ifstream file(path);
  std::int64_t value = 0;
  return file >> value ? value : kUnknown;  // "max" is no number
}

std::int64_t field_in(const std::string& path, const std::string& key) {
  std::ifstream file(path);
  std::string name;
  std::int64_t value = 0;
  while (file >> name >> value) {
    if (name == key) return value;
  }
  return 0;
}

// Room below one cgroup's limit; page cache that can be dropped counts as room.
std::int64_t room(const std::string& directory, const char* limit, const char* usage, const char* inactive) {
  const std::int64_t most = number_in(directory + limit);
  const std::int64_t used = number_in(directory + usage);
  if (most >= kUnknown / 2 || used == kUnknown) return kUnknown;
  return std::max<std::int64_t>(0, most - used + field_in(directory + "/memory.stat", inactive));
}

std::int64_t cgroup_room() {
  std::int64_t least = kUnknown;
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const auto path_at = line.rfind(':');
    if (path_at == std::string::npos) continue;
    const bool v2 = line.rfind("0::", 0) == 0;
    if (!v2 && line.find("memory") == std::string::npos) continue;
    const std::string root = v2 ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory";
    for (std::string path = line.substr(path_at + 1);; path.resize(path.rfind('/'))) {
      if (path == "/") path.clear();
      least = std::min(least, v2 ? room(root + path, "/memory.max", "/memory.current", "inactive_file")
                                 : room(root + path, "/memory.limit_in_bytes", "/memory.usage_in_bytes",
                                        "total_inactive_file"));
      if (path.empty() || path.rfind('/') == std::string::npos) break;
    }
  }
  return least;
}

}  // namespace

std::int64_t free_memory_bytes() {
  return std::min(kilobytes_field("/proc/meminfo", "MemAvailable", 0), cgroup_room());
}

std::int64_t resident_set_bytes() {
  return kilobytes_field("/proc/self/status", "VmRSS", 0);
}
std::int64_t highest_resident_set_bytes() {
  return kilobytes_field("/proc/self/status", "VmHWM", 0);
}
void forget_highest_resident_set() {
  std::ofstream("/proc/self/clear_refs") << "5\n";
}

}  // namespace vdnn
