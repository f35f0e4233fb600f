#include "plan/verify_versions.h"

namespace vdnn {
namespace {

// Every buffer once.
void add(std::vector<VersionedAccess>& list, BufferId buffer) {
  for (const auto& access : list) {
    if (access.buffer == buffer) return;
  }
  list.push_back({.buffer = buffer});
}

}  // namespace

ProgramVersions find_versions(const Program& program) {
  ProgramVersions versions;
  versions.last.assign(program.buffers.size(), 0);
  for (const auto& kernel : program.kernels) {
    KernelVersions& one = versions.of_kernel.emplace_back();
    for (const auto& view : kernel.reads) add(one.reads, view.buffer);
    for (const auto& view : kernel.writes) add(one.writes, view.buffer);
    for (auto& read : one.reads) read.version = versions.last[read.buffer.index()];
    for (auto& write : one.writes) write.version = ++versions.last[write.buffer.index()];
  }
  return versions;
}

}  // namespace vdnn
