#include "vdnn/timeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "plan/sample_network.h"
#include "plan/three_kernels.h"

namespace vdnn::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::int64_t kMillisecond = 1'000'000;

// make [0, 1), offload [1, 4), other [1, 3), prefetch [4, 9), use [9, 13).
StepTimes example_times() {
  const Program program = three_kernels();
  return simulate(program, moving_plan(program), kLinks).step_nanoseconds;
}

std::int64_t total(const MemorySample& sample) {
  return std::accumulate(sample.bytes.begin(), sample.bytes.end(), std::int64_t{0});
}

TEST(Timeline, APlacementIsReleasedWhenItsOffloadHasEnded) {
  const Program program = three_kernels();
  const auto stays = placement_nanoseconds(moving_plan(program), example_times());
  EXPECT_THAT(stays, ElementsAre(Interval{0, 13 * kMillisecond}, Interval{0, 4 * kMillisecond},
                                 Interval{1 * kMillisecond, 3 * kMillisecond},
                                 Interval{4 * kMillisecond, 13 * kMillisecond},
                                 Interval{9 * kMillisecond, 13 * kMillisecond}));
}

TEST(Timeline, MemoryChangesWhenPlacementsBeginAndEnd) {
  const Program program = three_kernels();
  const auto samples = memory_over_time(program, moving_plan(program), example_times());
  std::vector<std::pair<std::int64_t, std::int64_t>> totals;
  for (const auto& sample : samples) totals.emplace_back(sample.nanoseconds / kMillisecond, total(sample));
  using Total = std::pair<std::int64_t, std::int64_t>;
  EXPECT_THAT(totals, ElementsAre(Total{0, 5120}, Total{1, 5632}, Total{3, 5120}, Total{4, 5120},
                                  Total{9, 7168}, Total{13, 0}));
  EXPECT_EQ(samples[1].bytes[static_cast<std::size_t>(Role::workspace)], 512);
}

TEST(Timeline, AWaitEndsWithTheStepThatEndsLast) {
  const Program program = three_kernels();
  const auto waits = stream_waits(moving_plan(program), example_times());
  // The offload stands until its map is made, the prefetch until the offload has ended, the last kernel for
  // the prefetch.
  ASSERT_EQ(waits.size(), 3U);
  EXPECT_EQ(waits[0].nanoseconds, (Interval{0, 1 * kMillisecond}));
  EXPECT_EQ(waits[1].nanoseconds, (Interval{0, 4 * kMillisecond}));
  EXPECT_EQ(waits[2].nanoseconds, (Interval{3 * kMillisecond, 9 * kMillisecond}));
  EXPECT_EQ(waits[2].step, 4U);
  EXPECT_EQ(waits[2].on, 3U);
}

TEST(Timeline, ComputeWaitsAddUpToTheStall) {
  const Program program = three_kernels();
  const Plan plan = moving_plan(program);
  std::int64_t stall = 0;
  for (const auto& wait : stream_waits(plan, example_times())) {
    if (plan.steps[wait.step].kind == StepKind::launch) stall += wait.nanoseconds.length();
  }
  EXPECT_DOUBLE_EQ(1e-9 * static_cast<double>(stall), simulate(program, plan, kLinks).stall_seconds);
}

// In a plan of the planner's own: never more than the live bytes by step, and as many at the peak.
TEST(Timeline, MemoryNeverExceedsThePeakOfLiveBytes) {
  NamedPlan sample{sample_network(), "vdnn-all"};
  Program program = sample.program();
  for (auto& kernel : program.kernels) {
    for (auto& candidate : kernel.candidates) candidate.seconds = 1e-3;
  }
  const Simulation simulation = simulate(program, sample.plan(), {});
  std::int64_t most = 0;
  for (const auto& at : memory_over_time(program, sample.plan(), simulation.step_nanoseconds)) {
    for (const auto bytes : at.bytes) EXPECT_GE(bytes, 0);
    most = std::max(most, total(at));
  }
  EXPECT_LE(most, sample.plan().peak_bytes);
  EXPECT_GE(most, simulation.peak_live_bytes);
}

TEST(Timeline, StepsAreNamedByKernelAndPhaseOrByCopyAndBuffer) {
  NamedPlan sample{sample_network(), "vdnn-all"};
  const auto name = [&](std::int64_t step) {
    return step_name(sample.program(), sample.plan().steps[static_cast<std::size_t>(step)]);
  };
  EXPECT_EQ(name(sample.forward("conv2")), "conv2 forward");
  EXPECT_EQ(name(sample.copy(StepKind::offload, "conv1")), "offload conv1");
  EXPECT_EQ(name(sample.copy(StepKind::prefetch, "conv1")), "prefetch conv1");
}

}  // namespace
}  // namespace vdnn::testing
