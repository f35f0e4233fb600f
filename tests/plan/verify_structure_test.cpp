#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plan/broken_plan.h"

// Plans whose parts do not fit together or to the program, as files may contain them.
namespace vdnn::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

using VerifyStructure = VerifyPlan;

TEST_F(VerifyStructure, APlanForAnotherProgram) {
  EXPECT_THAT(verify_plan(lowered(sample_network(32)), plan), Contains(HasSubstr("another program")));
}

TEST_F(VerifyStructure, AnAssignmentOfAnotherSize) {
  plan.assignment.pop_back();
  EXPECT_THAT(verified(), Contains(HasSubstr("assignment")));
  plan.assignment.resize(plan.steps.size() + 100, 0);
  EXPECT_THAT(verified(), Contains(HasSubstr("assignment")));
}

TEST_F(VerifyStructure, ACandidateThatAKernelLacks) {
  for (const int candidate : {-1, 1, INT32_MAX}) {
    plan.assignment[2] = candidate;
    EXPECT_THAT(verified(), Contains(HasSubstr("no candidate"))) << candidate;
  }
}

TEST_F(VerifyStructure, AKernelLaunchedBeforeItsTurn) {
  std::swap(plan.steps[0].kernel, plan.steps[1].kernel);
  EXPECT_THAT(verified(), Contains(HasSubstr("out of order")));
}

TEST_F(VerifyStructure, AWorkspaceOfNoLaunch) {
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    if (plan.steps[s].kind == StepKind::launch) continue;
    const auto step = static_cast<std::int64_t>(s);
    plan.placements.push_back({.steps = {step, step + 1}});
    EXPECT_THAT(verified(), Contains(HasSubstr("launches nothing")));
    return;
  }
  FAIL() << "nothing moves in this plan";
}

TEST_F(VerifyStructure, AKernelNeverLaunched) {
  plan.steps.pop_back();
  EXPECT_THAT(verified(), Contains(HasSubstr("kernels are launched")));
}

TEST_F(VerifyStructure, ACopyOfABufferThatIsNotThere) {
  for (const auto buffer : {BufferId(), BufferId(program.buffers.size())}) {
    step(good.copy(StepKind::offload, "conv1")).buffer = buffer;
    EXPECT_THAT(verified(), Contains(HasSubstr("moves no buffer")));
  }
}

TEST_F(VerifyStructure, APlacementOutsideTheStep) {
  const auto steps = static_cast<std::int64_t>(plan.steps.size());
  for (const Interval stays : {Interval{-1, 3}, {3, 3}, {4, 3}, {0, steps + 1}, {steps, INT64_MAX}}) {
    stay("conv1").steps = stays;
    EXPECT_THAT(verified(), Contains(HasSubstr("is placed in steps"))) << stays.begin;
  }
}

TEST_F(VerifyStructure, AnEmptyPlan) {
  EXPECT_FALSE(verify_plan(program, {}).empty());
}

}  // namespace
}  // namespace vdnn::testing
