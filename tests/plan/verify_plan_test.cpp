#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plan/broken_plan.h"

// Sound plans broken by hand: each rule's violation is reported by the rule's name.
namespace vdnn::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

// Three blocks of ten bytes, all alive.
std::vector<std::string> verify_three_blocks(std::int64_t a, std::int64_t b, std::int64_t c) {
  Program program;
  program.layers = {{.name = "layer"}};
  Kernel kernel{.name = "kernel", .layer = LayerId(0), .candidates = {{}}};
  Plan plan{.budget_bytes = 1000, .assignment = {0}, .steps = {{.kernel = KernelId(0)}}};
  for (const auto offset : {a, b, c}) {
    const BufferId id(program.buffers.size());
    program.buffers.push_back(
        {.name = fmt::format("block{}", id.index()), .bytes = 10, .alignment_bytes = 1});
    kernel.writes.push_back({id, 0, 10});
    plan.placements.push_back({.buffer = id, .steps = {0, 1}, .offset_bytes = offset, .bytes = 10});
    plan.peak_bytes = std::max(plan.peak_bytes, offset + 10);
  }
  program.kernels = {kernel};
  plan.program_fingerprint = fingerprint(program);
  return verify_plan(program, plan);
}

TEST_F(VerifyPlan, TheGoodPlanIsSoundAndMovesMaps) {
  EXPECT_THAT(verified(), IsEmpty());
  EXPECT_EQ(good.offloaded().size(), 5U);
}

TEST_F(VerifyPlan, P1BuffersAtOneAddress) {
  stay("conv2").offset_bytes = stay("conv1").offset_bytes;
  EXPECT_THAT(verified(), Contains(AllOf(StartsWith("P1"), HasSubstr("conv1"), HasSubstr("conv2"))));
}

TEST_F(VerifyPlan, P1BuffersThatShareTheirLastGranule) {
  Placement& below = stay("conv1");
  Placement& above = stay("conv2");
  above.offset_bytes = below.offset_bytes + below.bytes - 4096;
  EXPECT_THAT(verified(), Contains(StartsWith("P1")));
}

// A known planner's check of neighbours accepts this.
TEST(VerifyThreeBlocks, P1AtOffsets0And100And0) {
  EXPECT_THAT(verify_three_blocks(0, 100, 0),
              ElementsAre(AllOf(StartsWith("P1"), HasSubstr("block0"), HasSubstr("block2"))));
}

TEST(VerifyThreeBlocks, P1ABlockThatReachesIntoTheOneAbove) {
  EXPECT_THAT(verify_three_blocks(0, 100, 91), ElementsAre(StartsWith("P1")));
}

TEST(VerifyThreeBlocks, BlocksThatTouchAreSound) {
  EXPECT_THAT(verify_three_blocks(20, 0, 10), IsEmpty());
}

TEST_F(VerifyPlan, P1LessMemoryThanTheBufferHas) {
  stay("conv1").bytes -= 4096;
  EXPECT_THAT(verified(), Contains(AllOf(StartsWith("P1"), HasSubstr("conv1"))));
}

TEST_F(VerifyPlan, P2APrefetchRemoved) {
  for (const auto* map : {"images", "conv1", "conv2", "pool", "pool.indices"}) {
    plan = good.plan();
    remove_step(static_cast<std::int32_t>(good.copy(StepKind::prefetch, map)));
    EXPECT_THAT(verified(), Contains(AllOf(StartsWith("P2"), HasSubstr(map)))) << map;
  }
}

TEST_F(VerifyPlan, P2AnOffloadRemoved) {
  remove_step(static_cast<std::int32_t>(good.copy(StepKind::offload, "conv1")));
  EXPECT_THAT(verified(), Contains(AllOf(StartsWith("P2"), HasSubstr("conv1"))));
}

TEST_F(VerifyPlan, P2APrefetchFromWhereNothingWasWritten) {
  step(good.copy(StepKind::prefetch, "conv1")).tier_offset_bytes += 4096;
  EXPECT_THAT(verified(), Contains(AllOf(StartsWith("P2"), HasSubstr("conv1"))));
}

TEST_F(VerifyPlan, P2AStayEndsBeforeTheLastReader) {
  for (const auto& [map, number] : {std::pair{"conv1", 0}, {"conv1", 1}, {"conv3", 0}}) {
    plan = good.plan();
    --stay(map, static_cast<std::size_t>(number)).steps.end;
    EXPECT_THAT(verified(), Contains(AllOf(StartsWith("P2"), HasSubstr(map)))) << map << number;
  }
}

TEST_F(VerifyPlan, P2AStayBeginsBehindTheWriter) {
  ++stay("conv1").steps.begin;
  EXPECT_THAT(verified(), Contains(AllOf(StartsWith("P2"), HasSubstr("conv1"))));
}

TEST_F(VerifyPlan, P2AStayBeginsBehindThePrefetch) {
  ++stay("conv1", 1).steps.begin;
  EXPECT_THAT(verified(), Contains(AllOf(StartsWith("P2"), HasSubstr("conv1"))));
}

TEST_F(VerifyPlan, P2ABufferWithoutAPlace) {
  plan.placements.erase(plan.placements.begin() + (&stay("conv3") - plan.placements.data()));
  EXPECT_THAT(verified(), Contains(AllOf(StartsWith("P2"), HasSubstr("conv3"))));
}

TEST_F(VerifyPlan, P2AWeightThatIsGoneWhenTheStepIsOver) {
  --stay("conv1.weight").steps.end;
  EXPECT_THAT(verified(), Contains(AllOf(StartsWith("P2"), HasSubstr("conv1.weight"))));
}

// Others could overwrite it before its first reader: it came from the step before.
TEST_F(VerifyPlan, P2AWeightThatIsNotThereWhenTheStepBegins) {
  ++stay("conv1.weight").steps.begin;
  EXPECT_THAT(verified(), Contains(AllOf(StartsWith("P2"), HasSubstr("conv1.weight"))));
}

// The next step would look for it at its first address.
TEST_F(VerifyPlan, P2AWeightThatEndsTheStepAtAnotherAddress) {
  const auto steps = static_cast<std::int64_t>(plan.steps.size());
  const std::int64_t launch = good.forward("conv1");
  Placement& first = stay("conv1.weight");
  Placement second = first;
  first.steps.end = launch;
  second.steps = {launch, steps};
  second.offset_bytes = plan.peak_bytes;
  plan.placements.push_back(second);
  plan.peak_bytes += second.bytes;
  EXPECT_THAT(verified(), Contains(AllOf(StartsWith("P2"), HasSubstr("conv1.weight"))));
}

TEST_F(VerifyPlan, P2ALossThatIsGoneWhenTheStepIsOver) {
  --stay("loss").steps.end;
  EXPECT_THAT(verified(), Contains(AllOf(StartsWith("P2"), HasSubstr("loss"))));
}

TEST_F(VerifyPlan, P2AKernelWithoutItsWorkspace) {
  Program hungry = program;
  hungry.kernels[1].candidates[0].workspace_bytes = 1000;
  plan = planned(hungry, "vdnn-all");
  ASSERT_THAT(verify_plan(hungry, plan), IsEmpty());
  std::erase_if(plan.placements, [](const Placement& p) { return !p.buffer.valid(); });
  EXPECT_THAT(verify_plan(hungry, plan), Contains(AllOf(StartsWith("P2"), HasSubstr("workspace"))));
}

TEST_F(VerifyPlan, P3APeakAboveTheBudget) {
  plan.budget_bytes = plan.peak_bytes - 1;
  EXPECT_THAT(verified(), ElementsAre(StartsWith("P3")));
}

TEST_F(VerifyPlan, P3ABufferAtANegativeAddress) {
  stay("conv1").offset_bytes = -4096;
  EXPECT_THAT(verified(), Contains(StartsWith("P3")));
}

TEST_F(VerifyPlan, P4AnotherPeakThanTheStatedOne) {
  for (const std::int64_t error : {-64, 64}) {
    plan.peak_bytes = good.plan().peak_bytes + error;
    EXPECT_THAT(verified(), ElementsAre(StartsWith("P4"))) << error;
  }
}

TEST_F(VerifyPlan, P9AMisalignedOffset) {
  stay("conv1").offset_bytes += 64;
  EXPECT_THAT(verified(), Contains(AllOf(StartsWith("P9"), HasSubstr("conv1"))));
}

TEST_F(VerifyPlan, P9AMisalignedWorkspace) {
  Program hungry = program;
  hungry.kernels[1].candidates[0].workspace_bytes = 1000;
  plan = planned(hungry, "vdnn-all");
  for (auto& placement : plan.placements) placement.offset_bytes += placement.buffer.valid() ? 0 : 1;
  EXPECT_THAT(verify_plan(hungry, plan), Contains(StartsWith("P9")));
}

bool uses(const Program& program, const PlanStep& launch, BufferId buffer) {
  const auto of_buffer = [&](const View& view) { return view.buffer == buffer; };
  const auto& kernel = program.kernel(launch.kernel);
  return std::any_of(kernel.reads.begin(), kernel.reads.end(), of_buffer) ||
         std::any_of(kernel.writes.begin(), kernel.writes.end(), of_buffer);
}

// Waits that the data could do without: the paper's synchronisation at the end of a layer, and a prefetch to
// another address that waits for kernels which used the map before it left.
bool is_policy(const Program& program, const Plan& plan, const PlanStep& step, std::int32_t wait) {
  const PlanStep& on = plan.steps[static_cast<std::size_t>(wait)];
  if (step.kind == StepKind::launch) return !uses(program, step, on.buffer);
  return step.kind == StepKind::prefetch && on.kind == StepKind::launch && uses(program, on, step.buffer);
}

// The planner leaves out waits that others imply, so each that remains is needed.
int count_needed_waits(const Program& program, const Plan& good) {
  int needed = 0;
  for (std::size_t s = 0; s < good.steps.size(); ++s) {
    for (const auto wait : good.steps[s].waits) {
      Plan plan = good;
      std::erase(plan.steps[s].waits, wait);
      const auto violations = verify_plan(program, plan);
      EXPECT_THAT(violations, ::testing::Each(StartsWith("P10"))) << "step " << s << " without " << wait;
      if (violations.empty()) {
        EXPECT_TRUE(is_policy(program, good, good.steps[s], wait))
            << "step " << s << " need not wait for " << wait;
      } else {
        ++needed;
      }
    }
  }
  return needed;
}

TEST_F(VerifyPlan, P10EveryWaitRemovedIsReportedUnlessThePolicyWantedIt) {
  EXPECT_GE(count_needed_waits(program, plan), 15);
}

TEST(VerifyRandomPlans, P10EveryWaitRemovedIsReportedUnlessThePolicyWantedIt) {
  int needed = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    const Program program = random_program(seed);
    for (const auto* policy : {"vdnn-all", "vdnn-conv"}) {
      needed += count_needed_waits(program, planned(program, policy));
    }
  }
  EXPECT_GE(needed, 200);
}

TEST_F(VerifyPlan, P10APrefetchReadBeforeItIsWaitedFor) {
  for (auto& later : plan.steps) {
    if (later.kind == StepKind::launch) {
      std::erase_if(later.waits, [&](auto wait) {
        return plan.steps[static_cast<std::size_t>(wait)].kind == StepKind::prefetch;
      });
    }
  }
  for (const auto* map : {"images", "conv1", "conv2", "pool", "pool.indices"}) {
    EXPECT_THAT(verified(), Contains(AllOf(StartsWith("P10"), HasSubstr(map)))) << map;
  }
}

TEST_F(VerifyPlan, P10AnOffloadBeforeItsProducer) {
  step(good.copy(StepKind::offload, "conv1")).waits.clear();
  EXPECT_THAT(verified(), Contains(AllOf(StartsWith("P10"), HasSubstr("conv1"))));
}

TEST_F(VerifyPlan, P10TierRangesOverlap) {
  for (const auto kind : {StepKind::offload, StepKind::prefetch}) {
    step(good.copy(kind, "conv2")).tier_offset_bytes = step(good.copy(kind, "conv1")).tier_offset_bytes;
  }
  EXPECT_THAT(verified(),
              Contains(AllOf(StartsWith("P10"), HasSubstr("tier"), HasSubstr("conv1"), HasSubstr("conv2"))));
}

TEST_F(VerifyPlan, P10AnOffloadBehindTheTiersEnd) {
  const std::int64_t bytes = stay("conv1").bytes;
  for (const std::int64_t offset :
       {std::int64_t{-4096}, plan.tier_bytes - bytes + 1, INT64_MAX, INT64_MAX - bytes}) {
    step(good.copy(StepKind::offload, "conv1")).tier_offset_bytes = offset;
    EXPECT_THAT(verified(), Contains(AllOf(StartsWith("P10"), HasSubstr("outside the tier")))) << offset;
  }
}

TEST_F(VerifyPlan, P10AWaitForALaterStep) {
  const auto last = static_cast<std::int32_t>(plan.steps.size()) - 1;
  for (const std::int32_t wait : {5, 6, last, last + 1, -1, INT32_MIN, INT32_MAX}) {
    plan.steps[5].waits = {wait};
    EXPECT_THAT(verified(), Contains(StartsWith("P10"))) << wait;
  }
}

TEST_F(VerifyPlan, P5AMoveWhereAllFits) {
  plan.budget_bytes = std::int64_t{1} << 40;
  EXPECT_THAT(verified(), IsEmpty());  // vdnn-all always moves
  plan.policy = "vdnn-dyn";
  EXPECT_THAT(verified(), ElementsAre(AllOf(StartsWith("P5"), HasSubstr("images"))));
  plan.budget_bytes = plan.peak_bytes;
  EXPECT_THAT(verified(), IsEmpty());
}

TEST_F(VerifyPlan, P6APeakBelowAKernelsWorkingSet) {
  std::int64_t largest = 0;
  for (const auto& kernel : program.kernels)
    largest = std::max(largest, working_set_bytes(program, kernel, kernel.candidates[0]));
  plan.peak_bytes = largest - 1;
  EXPECT_THAT(verified(), Contains(StartsWith("P6")));
  plan.peak_bytes = largest;
  EXPECT_THAT(verified(), Not(Contains(StartsWith("P6"))));
}

// Sound, but not what the policy makes: a wait that is not needed, or a block moved up.
TEST_F(VerifyPlan, P7APlanThatItsPolicyDoesNotMake) {
  EXPECT_THAT(verify_origin(program, plan), IsEmpty());
  plan.steps.back().waits.push_back(static_cast<std::int32_t>(good.copy(StepKind::offload, "conv1")));
  EXPECT_THAT(verified(), IsEmpty());
  EXPECT_THAT(verify_origin(program, plan), ElementsAre(AllOf(StartsWith("P7"), HasSubstr("vdnn-all"))));
  plan.policy = "my own";
  EXPECT_THAT(verify_origin(program, plan), IsEmpty());
}

TEST_F(VerifyPlan, AnUpdateLaunchedTwice) {
  plan.steps.push_back(plan.steps.back());
  for (auto& placement : plan.placements) {
    if (placement.steps.end == std::ssize(plan.steps) - 1) ++placement.steps.end;
  }
  EXPECT_THAT(verified(), Contains(HasSubstr("does not hold the value that it needs")));
}

// The loader writes it while the step runs.
TEST_F(VerifyPlan, AStagedBatchThatMoves) {
  for (std::size_t b = 0; b < program.buffers.size(); ++b) {
    if (!program.buffers[b].persistent || program.buffers[b].role != Role::input) continue;
    Plan moved = plan;
    moved.steps.push_back({.kind = StepKind::offload, .buffer = BufferId(b)});
    for (auto& placement : moved.placements) {
      if (placement.steps.end == std::ssize(plan.steps)) ++placement.steps.end;
    }
    moved.tier_bytes += program.buffers[b].placed_bytes();
    EXPECT_THAT(verify_plan(program, moved), Contains(HasSubstr("written from outside")));
  }
}

}  // namespace
}  // namespace vdnn::testing
