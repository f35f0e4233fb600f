#include "plan/verify_versions.h"

namespace vdnn {
namespace {

// Appends what each kernel does with its buffers, every buffer once per list.
std::vector<KernelVersions> walk(const Program& program, std::vector<std::int64_t>& versions) {
  versions.assign(program.buffers.size(), 0);
  const auto add = [&](std::vector<VersionedAccess>& list, BufferId buffer) {
    for (const auto& access : list) {
      if (access.buffer == buffer) return;
    }
    list.push_back({.buffer = buffer});
  };
  std::vector<KernelVersions> all;
  for (const auto& kernel : program.kernels) {
    KernelVersions& one = all.emplace_back();
    for (const auto& view : kernel.reads) add(one.reads, view.buffer);
    for (const auto& view : kernel.writes) add(one.writes, view.buffer);
    for (auto& read : one.reads) read.version = versions[read.buffer.index()];
    for (auto& write : one.writes) write.version = ++versions[write.buffer.index()];
  }
  return all;
}

}  // namespace

std::vector<KernelVersions> find_versions(const Program& program) {
  std::vector<std::int64_t> versions;
  return walk(program, versions);
}

std::vector<std::int64_t> last_versions(const Program& program) {
  std::vector<std::int64_t> versions;
  walk(program, versions);
  return versions;
}

}  // namespace vdnn
