#include <gtest/gtest.h>

#include "plan/three_kernels.h"

namespace vdnn::testing {
namespace {

Simulation simulated() {
  const Program program = three_kernels();
  return simulate(program, moving_plan(program), kLinks);
}

TEST(Simulate, TheExampleIsASoundPlan) {
  const Program program = three_kernels();
  EXPECT_EQ(verify_plan(program, moving_plan(program)), std::vector<std::string>{});
}

TEST(Simulate, StepsRunInStreamOrderAfterWhatTheyWaitFor) {
  constexpr std::int64_t kMs = 1'000'000;
  const std::vector<Interval> expected = {
      {0, kMs}, {kMs, 4 * kMs}, {kMs, 3 * kMs}, {4 * kMs, 9 * kMs}, {9 * kMs, 13 * kMs}};
  EXPECT_EQ(simulated().step_nanoseconds, expected);
}

TEST(Simulate, AStepEndsWithItsLastStream) {
  EXPECT_DOUBLE_EQ(simulated().step_seconds, 13e-3);
}

TEST(Simulate, AStepEndsWithACopyThatOutlastsTheKernels) {
  const Program program = three_kernels();
  Links links = kLinks;
  links.offload_bytes_per_s = 4096.0;
  EXPECT_DOUBLE_EQ(simulate(program, moving_plan(program), links).step_nanoseconds[1].end * 1e-9, 1.001);
}

TEST(Simulate, KernelSecondsAreThoseOfTheAssignedCandidates) {
  EXPECT_DOUBLE_EQ(simulated().kernel_seconds, 7e-3);
  const Program program = three_kernels();
  Plan plan = moving_plan(program);
  plan.assignment[1] = 0;
  EXPECT_DOUBLE_EQ(simulate(program, plan, kLinks).kernel_seconds, 14e-3);
}

TEST(Simulate, AStallIsTheComputeStreamWaitingForACopy) {
  EXPECT_DOUBLE_EQ(simulated().stall_seconds, 6e-3);
}

TEST(Simulate, CopySecondsCountBothDirections) {
  const Simulation simulation = simulated();
  EXPECT_DOUBLE_EQ(simulation.copy_seconds, 8e-3);
  EXPECT_EQ(simulation.offloaded_bytes, 4096);
  EXPECT_EQ(simulation.prefetched_bytes, 4096);
}

TEST(Simulate, TheHiddenShareIsOneMinusStallsOverCopies) {
  EXPECT_DOUBLE_EQ(simulated().hidden_copy_share(), 0.25);
}

TEST(Simulate, WithoutCopiesAllIsHidden) {
  const Program program = three_kernels();
  Plan plan = moving_plan(program);
  plan.steps = {{.kernel = KernelId(0)}, {.kernel = KernelId(1)}, {.kernel = KernelId(2)}};
  plan.placements = {{.buffer = kMap, .steps = {0, 3}, .bytes = 4096}};
  const Simulation simulation = simulate(program, plan, kLinks);
  EXPECT_DOUBLE_EQ(simulation.hidden_copy_share(), 1);
  EXPECT_DOUBLE_EQ(simulation.stall_seconds, 0);
  EXPECT_DOUBLE_EQ(simulation.step_seconds, 7e-3);
}

TEST(Simulate, TheHiddenShareIsNeverBelowZero) {
  Simulation simulation;
  simulation.copy_seconds = 1;
  simulation.stall_seconds = 2;
  EXPECT_EQ(simulation.hidden_copy_share(), 0);
}

// other [1, 3) beside the offload: 1.5 times as long, to 4; so the prefetch begins at 4 and nothing else
// moves.
TEST(Simulate, AKernelBesideACopyIsSlower) {
  Links links = kLinks;
  links.offload_slowdown = 1.5;
  const Program program = three_kernels();
  const Simulation simulation = simulate(program, moving_plan(program), links);
  EXPECT_EQ(simulation.step_nanoseconds[2], (Interval{1'000'000, 4'000'000}));
  EXPECT_DOUBLE_EQ(simulation.kernel_seconds, 8e-3);
  EXPECT_DOUBLE_EQ(simulation.step_seconds, 13e-3);
}

// The offload ends at 4 ms, when the kernel has done 1.5 of its 6 ms of work; the rest takes 4.5 ms.
TEST(Simulate, TheSlowdownEndsWithTheCopy) {
  Links links = kLinks;
  links.offload_slowdown = 2;
  Program program = three_kernels();
  program.kernels[1].candidates[1].seconds = 6e-3;
  const Simulation simulation = simulate(program, moving_plan(program), links);
  EXPECT_EQ(simulation.step_nanoseconds[1], (Interval{1'000'000, 4'000'000}));
  EXPECT_EQ(simulation.step_nanoseconds[2], (Interval{1'000'000, 8'500'000}));
}

// The offload takes 8 ms, to 9; the prefetch 2 ms, to 11; the last kernel 4 ms.
TEST(Simulate, TheFarTierHasItsOwnRates) {
  Links links = kLinks;
  links.far_offload_bytes_per_s = 4096 / 8e-3;
  links.far_prefetch_bytes_per_s = 4096 / 2e-3;
  links.offload_slowdown = links.prefetch_slowdown = 2;  // of copies that there are none of
  const Program program = three_kernels();
  Plan plan = moving_plan(program);
  for (auto& step : plan.steps) step.tier = TierLevel::far;
  const Simulation simulation = simulate(program, plan, links);
  EXPECT_EQ(simulation.step_nanoseconds[1], (Interval{1'000'000, 9'000'000}));
  EXPECT_EQ(simulation.step_nanoseconds[2], (Interval{1'000'000, 3'000'000}));
  EXPECT_EQ(simulation.step_nanoseconds[3], (Interval{9'000'000, 11'000'000}));
  EXPECT_DOUBLE_EQ(simulation.step_seconds, 15e-3);
}

// Two maps cross: each direction at half its rate while both copy.
TEST(Simulate, CopiesOfBothDirectionsShareTheLink) {
  Links links = kLinks;
  links.duplex_share = 0.5;
  const Program program = three_kernels();
  Plan plan = moving_plan(program);
  plan.steps[3].waits = {0};  // the prefetch begins with the offload
  const Simulation simulation = simulate(program, plan, links);
  EXPECT_EQ(simulation.step_nanoseconds[1], (Interval{1'000'000, 7'000'000}));
  EXPECT_EQ(simulation.step_nanoseconds[3], (Interval{1'000'000, 9'000'000}));
  EXPECT_DOUBLE_EQ(simulation.copy_seconds, 14e-3);
}

TEST(Simulate, P4ThePeakIsTheHighestAddress) {
  EXPECT_EQ(simulated().peak_bytes, 8192);
}

TEST(Simulate, ThePeakOfLiveBytesIsSplitByRole) {
  const Simulation simulation = simulated();
  EXPECT_EQ(simulation.peak_live_bytes, 7168);
  const auto of = [&](Role role) { return simulation.peak_bytes_by_role[static_cast<std::size_t>(role)]; };
  EXPECT_EQ(of(Role::weight), 1024);
  EXPECT_EQ(of(Role::feature_map), 4096);
  EXPECT_EQ(of(Role::gradient_map), 2048);
  EXPECT_EQ(of(Role::workspace), 0);
}

// The weight for 13 ms, the map until its offload ends at 4 ms and again from 4 ms to 13 ms, the workspace
// for the 2 ms of its kernel, the gradient for the last 4 ms.
TEST(Simulate, TheAverageIsWeightedByTime) {
  EXPECT_DOUBLE_EQ(simulated().average_live_bytes, (1024 * 13 + 4096 * 13 + 512 * 2 + 2048 * 4) / 13.0);
}

// The layer is one that the paper manages; the staged batch and optimizer state would not be.
TEST(Simulate, ManagedMemoryIsThatOfFeatureExtractionLayers) {
  Program program = three_kernels();
  for (auto& buffer : program.buffers) buffer.made_by = LayerId(0);
  const Plan plan = moving_plan(program);
  const Simulation all = simulate(program, plan, kLinks);
  EXPECT_DOUBLE_EQ(all.managed_average_bytes, all.average_live_bytes);
  EXPECT_EQ(all.managed_peak_bytes, all.peak_live_bytes);
  program.buffers[kWeight.index()].role = Role::optimizer_state;
  const Simulation less = simulate(program, plan, kLinks);
  EXPECT_DOUBLE_EQ(less.managed_average_bytes, all.average_live_bytes - 1024);
  EXPECT_EQ(less.managed_peak_bytes, all.peak_live_bytes - 1024);
  program.layers[0].layer_class = LayerClass::classifier;
  const Simulation none = simulate(program, plan, kLinks);
  EXPECT_EQ(none.managed_average_bytes, 0);
  EXPECT_EQ(none.managed_peak_bytes, 0);
}

// Kernels that were not measured: every step counts the same.
TEST(Simulate, WithoutTimesTheAverageIsOverSteps) {
  Program program = three_kernels();
  for (auto& kernel : program.kernels) {
    for (auto& candidate : kernel.candidates) candidate.seconds = 0;
  }
  Plan plan = moving_plan(program);
  plan.steps = {{.kernel = KernelId(0)}, {.kernel = KernelId(1)}, {.kernel = KernelId(2)}};
  plan.placements = {{.buffer = kMap, .steps = {0, 2}, .bytes = 4096},
                     {.buffer = kGradient, .steps = {2, 3}, .bytes = 2048}};
  EXPECT_NEAR(simulate(program, plan, kLinks).average_live_bytes, (4096 + 4096 + 2048) / 3.0, 1e-9);
}

}  // namespace
}  // namespace vdnn::testing
