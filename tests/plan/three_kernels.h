#pragma once

#include "vdnn/plan.h"

// The smallest step that moves something, with times worked out by hand.
namespace vdnn::testing {

inline constexpr BufferId kWeight{0};
inline constexpr BufferId kMap{1};
inline constexpr BufferId kGradient{2};

// A map is made (1 ms), something else runs (2 ms), the map is used (4 ms).
inline Program three_kernels() {
  Program program;
  program.buffers = {{.name = "weight", .role = Role::weight, .bytes = 1024, .persistent = true},
                     {.name = "map", .role = Role::feature_map, .bytes = 4096},
                     {.name = "gradient", .role = Role::gradient_map, .bytes = 2048}};
  program.layers = {{.name = "layer"}};
  const View weight{kWeight, 0, 1024};
  const View map{kMap, 0, 4096};
  program.kernels = {
      {.name = "make", .layer = LayerId(0), .writes = {map}, .candidates = {{.seconds = 1e-3}}},
      {.name = "other",
       .layer = LayerId(0),
       .reads = {weight},
       .candidates = {{.seconds = 9e-3}, {.workspace_bytes = 512, .seconds = 2e-3}}},
      {.name = "use",
       .layer = LayerId(0),
       .reads = {map},
       .writes = {{kGradient, 0, 2048}},
       .candidates = {{.seconds = 4e-3}}}};
  return program;
}

// The map leaves while the second kernel runs and is back before the third.
inline Plan moving_plan(const Program& program) {
  Plan plan{.program_fingerprint = fingerprint(program),
            .policy = "by hand",
            .budget_bytes = 8192,
            .assignment = {0, 1, 0},
            .peak_bytes = 8192,
            .tier_bytes = 4096};
  plan.steps = {{.kernel = KernelId(0)},
                {.kind = StepKind::offload, .buffer = kMap, .waits = {0}},
                {.kernel = KernelId(1)},
                {.kind = StepKind::prefetch, .buffer = kMap, .waits = {1}},
                {.kernel = KernelId(2), .waits = {3}}};
  plan.placements = {{.buffer = kWeight, .steps = {0, 5}, .offset_bytes = 0, .bytes = 1024},
                     {.buffer = kMap, .steps = {0, 2}, .offset_bytes = 1024, .bytes = 4096},
                     {.steps = {2, 3}, .offset_bytes = 6144, .bytes = 512},
                     {.buffer = kMap, .steps = {3, 5}, .offset_bytes = 2048, .bytes = 4096},
                     {.buffer = kGradient, .steps = {4, 5}, .offset_bytes = 6144, .bytes = 2048}};
  return plan;
}

// Offload takes 3 ms, prefetch 5 ms: make [0, 1), offload [1, 4), other [1, 3), prefetch [4, 9), use [9, 13).
inline constexpr Links kLinks = {.offload_bytes_per_s = 4096 / 3e-3, .prefetch_bytes_per_s = 4096 / 5e-3};

}  // namespace vdnn::testing
