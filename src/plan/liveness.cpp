#include "plan/liveness.h"

namespace vdnn {

Uses find_uses(const Program& program) {
  Uses uses(program.buffers.size());
  const auto note = [&](BufferId buffer, std::size_t kernel) -> Use& {
    auto& list = uses[buffer.index()];
    const auto position = static_cast<std::int32_t>(kernel);
    if (list.empty() || list.back().kernel != position) list.push_back({.kernel = position});
    return list.back();
  };
  for (std::size_t k = 0; k < program.kernels.size(); ++k) {
    for (const auto& view : program.kernels[k].reads) note(view.buffer, k).reads = true;
    for (const auto& view : program.kernels[k].writes) note(view.buffer, k).writes = true;
  }
  return uses;
}

std::vector<Pass> find_passes(const Program& program) {
  std::vector<Pass> passes;
  for (std::size_t k = 0; k < program.kernels.size(); ++k) {
    const auto& kernel = program.kernels[k];
    const bool backward = kernel.phase == Phase::backward || kernel.phase == Phase::update;
    const auto position = static_cast<std::int32_t>(k);
    if (passes.empty() || passes.back().layer != kernel.layer || passes.back().backward != backward) {
      passes.push_back({.layer = kernel.layer, .backward = backward, .begin = position});
    }
    passes.back().end = position + 1;
  }
  return passes;
}

std::vector<std::int32_t> pass_of_kernels(const std::vector<Pass>& passes) {
  std::vector<std::int32_t> result;
  for (std::size_t p = 0; p < passes.size(); ++p) {
    result.resize(static_cast<std::size_t>(passes[p].end), static_cast<std::int32_t>(p));
  }
  return result;
}

}  // namespace vdnn
