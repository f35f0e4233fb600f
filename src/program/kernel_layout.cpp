#include "program/kernel_layout.h"

#include <map>

namespace vdnn {

KernelLayout lay_out_alone(const Program& program, const Kernel& kernel, const Candidate& candidate) {
  KernelLayout layout;
  std::map<BufferId, std::int64_t> places;
  for (const auto* views : {&kernel.reads, &kernel.writes}) {
    for (const auto& view : *views) {
      const auto [place, fresh] = places.try_emplace(view.buffer, layout.bytes);
      if (fresh) layout.bytes += program.buffer(view.buffer).placed_bytes();
      layout.offsets_bytes.push_back(place->second + view.offset_bytes);
    }
  }
  if (candidate.workspace_bytes > 0) layout.offsets_bytes.push_back(layout.bytes);
  layout.bytes += candidate.workspace_bytes;
  return layout;
}

}  // namespace vdnn
