#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "program/granule.h"
#include "support/random_draws.h"
#include "support/random_graph.h"
#include "vdnn/device.h"
#include "vdnn/plan.h"

namespace vdnn::testing {

inline constexpr std::int64_t kUnlimited = std::int64_t{1} << 60;

// The training step of a network as the reference device lowers it: eight bytes a value, no workspace.
inline Program lowered(const Graph& graph) {
  return open_device("reference")->lower(differentiate(graph, {}), 1)->program();
}

// A random network with maps large enough to move, and kernels that have one to three candidates. Candidate
// 0 has the least workspace.
inline Program random_program(std::uint64_t seed) {
  Program program = lowered(random_graph(seed));
  RandomDraws draws(seed + 1'000'000);
  const auto factor = draws.one_of<std::int64_t>({1, 16, 256});
  for (auto& buffer : program.buffers) {
    buffer.bytes *= factor;
    buffer = granular(buffer);
  }
  for (auto& kernel : program.kernels) {
    for (auto* views : {&kernel.reads, &kernel.writes}) {
      for (auto& view : *views) view.bytes *= factor;
    }
    kernel.candidates.resize(static_cast<std::size_t>(draws.between(1, 3)));
    std::int64_t workspace_bytes = draws.chance(0.5) ? 0 : draws.between(1, 100'000);
    for (auto& candidate : kernel.candidates) {
      candidate = {.algorithm = "random", .workspace_bytes = workspace_bytes};
      candidate.seconds = 1e-6 * static_cast<double>(draws.between(1, 1000));
      workspace_bytes += draws.between(1, 1'000'000);
    }
  }
  return program;
}

inline Plan planned(const Program& program, std::string_view policy, std::int64_t budget_bytes = kUnlimited,
                    Algorithms algorithms = Algorithms::memory) {
  return make_plan(program,
                   {.policy = std::string(policy), .algorithms = algorithms, .budget_bytes = budget_bytes})
      .plan.value();
}

}  // namespace vdnn::testing
