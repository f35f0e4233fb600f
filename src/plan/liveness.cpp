#include "plan/liveness.h"

#include <numeric>

namespace vdnn {

Launches each_once(const Program& program) {
  Launches launches;
  for (std::size_t k = 0; k < program.kernels.size(); ++k) launches.emplace_back(k);
  return launches;
}

namespace {

constexpr std::size_t kNobody = SIZE_MAX;

// By buffer: the kernel that begins its value in every step.
std::vector<std::size_t> first_writers(const Program& program) {
  std::vector<std::size_t> first(program.buffers.size(), kNobody);
  std::vector<bool> read(program.buffers.size(), false);
  for (std::size_t k = 0; k < program.kernels.size(); ++k) {
    for (const auto& view : program.kernels[k].reads) read[view.buffer.index()] = true;
    for (const auto& view : program.kernels[k].writes) {
      const auto b = view.buffer.index();
      if (first[b] == kNobody && !read[b] && !program.buffers[b].persistent) first[b] = k;
    }
  }
  return first;
}

}  // namespace

Uses find_uses(const Program& program, const Launches& launches) {
  const std::vector<std::size_t> first = first_writers(program);
  Uses uses(program.buffers.size());
  const auto note = [&](BufferId buffer, std::size_t launch) -> Use& {
    auto& list = uses[buffer.index()];
    const auto position = static_cast<std::int32_t>(launch);
    if (list.empty() || list.back().launch != position)
      list.push_back({.launch = position, .restarts = first[buffer.index()] == launches[launch].index()});
    return list.back();
  };
  for (std::size_t l = 0; l < launches.size(); ++l) {
    const Kernel& kernel = program.kernel(launches[l]);
    for (const auto& view : kernel.reads) note(view.buffer, l).reads = true;
    for (const auto& view : kernel.writes) note(view.buffer, l).writes = true;
  }
  return uses;
}

std::vector<Interval> live_spans(const Buffer& buffer, const std::vector<Use>& uses, std::int64_t launches) {
  if (buffer.persistent) return {{0, launches}};
  std::vector<Interval> spans;
  for (const auto& use : uses) {
    if (use.restarts || spans.empty()) spans.push_back({use.launch, use.launch + 1});
    spans.back().end = use.launch + 1;
  }
  if (buffer.result && !spans.empty()) spans.back().end = launches;
  return spans;
}

std::vector<std::int64_t> live_bytes_by_launch(const Program& program, const Uses& uses,
                                               std::int64_t launches) {
  std::vector<std::int64_t> live(static_cast<std::size_t>(launches) + 1, 0);
  for (std::size_t b = 0; b < program.buffers.size(); ++b) {
    const Buffer& buffer = program.buffers[b];
    for (const auto& span : live_spans(buffer, uses[b], launches)) {
      live[static_cast<std::size_t>(span.begin)] += buffer.placed_bytes();
      live[static_cast<std::size_t>(span.end)] -= buffer.placed_bytes();
    }
  }
  std::partial_sum(live.begin(), live.end(), live.begin());
  live.pop_back();
  return live;
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
