#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "plan/sample_network.h"
#include "vdnn/explain.h"

// The passes of vDNN_dyn (paper, section 3.4).
namespace vdnn::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::vector<std::string> kOrder = {"vdnn-all (m)", "no offload (p)",    "vdnn-conv (p)",
                                         "vdnn-all (p)", "vdnn-conv, greedy", "vdnn-all, greedy",
                                         "vdnn-all (m)"};

std::vector<std::string> names(const Plan& plan) {
  std::vector<std::string> all;
  for (const auto& pass : plan.passes) all.push_back(pass.name);
  return all;
}

PlanResult dyn(const Program& program, std::int64_t budget_bytes) {
  return make_plan(program, {.policy = "vdnn-dyn", .budget_bytes = budget_bytes});
}

// The sample network with a second candidate for the first kernel of each convolution's directions: twice as
// fast, with this much workspace.
Program with_workspace(std::int64_t workspace_bytes) {
  Program program = lowered(sample_network());
  for (auto& kernel : program.kernels) {
    kernel.candidates[0].seconds = 2e-3;
    if (!kernel.op.starts_with("convolution")) continue;
    kernel.candidates.push_back({.algorithm = "fast", .workspace_bytes = workspace_bytes, .seconds = 1e-3});
  }
  return program;
}

std::int64_t kernels_at_their_fastest(const Plan& plan) {
  return std::count_if(plan.choices.begin(), plan.choices.end(), [&](const AlgorithmChoice& choice) {
    return plan.assignment[choice.kernel.index()] == choice.fastest;
  });
}

// Over budgets from the least to more than enough, the pass that is taken is the first that fits.
TEST(VdnnDyn, TakesTheFirstPassThatFits) {
  std::set<std::string> taken;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const Program program = random_program(seed);
    const std::int64_t least = dyn(program, 0).infeasible.value().least_budget_bytes;
    const std::int64_t most = dyn(program, kUnlimited).plan.value().peak_bytes;
    for (int i = 0; i <= 16; ++i) {
      const std::int64_t budget = least + (most - least) * i / 16;
      SCOPED_TRACE(fmt::format("seed {} budget {}", seed, budget));
      const Plan plan = dyn(program, budget).plan.value();
      EXPECT_THAT(verify_plan(program, plan), IsEmpty());
      const std::vector<std::string> expected(kOrder.begin(), kOrder.begin() + std::ssize(plan.passes));
      EXPECT_EQ(names(plan), expected);
      ASSERT_GE(plan.passes.size(), 2U);
      EXPECT_TRUE(plan.passes.front().fits);
      for (std::size_t p = 1; p + 1 < plan.passes.size(); ++p) EXPECT_FALSE(plan.passes[p].fits);
      EXPECT_TRUE(plan.passes.back().fits);
      EXPECT_EQ(plan.passes.back().peak_bytes, plan.peak_bytes);
      taken.insert(plan.passes.back().name);
    }
  }
  // The last pass of all, vdnn-all (m), is left to the greedy one before it, which ends there too.
  for (std::size_t pass = 1; pass + 1 < kOrder.size(); ++pass)
    EXPECT_THAT(taken, ::testing::Contains(kOrder[pass]));
}

TEST(VdnnDyn, ItsPassesAreThePoliciesOfTheSameNames) {
  const Program program = with_workspace(200'000);
  const auto peak = [&](const char* policy, Algorithms algorithms) {
    return planned(program, policy, kUnlimited, algorithms).peak_bytes;
  };
  const std::int64_t all = peak("vdnn-all", Algorithms::performance);
  const Plan plan = dyn(program, all).plan.value();
  EXPECT_THAT(names(plan), ElementsAre("vdnn-all (m)", "no offload (p)", "vdnn-conv (p)", "vdnn-all (p)"));
  EXPECT_EQ(plan.passes[0].peak_bytes, peak("vdnn-all", Algorithms::memory));
  EXPECT_EQ(plan.passes[2].peak_bytes, peak("vdnn-conv", Algorithms::performance));
  EXPECT_EQ(plan.passes[3].peak_bytes, all);
  EXPECT_EQ(plan.placements, planned(program, "vdnn-all", all, Algorithms::performance).placements);
}

// A workspace that alone exceeds the budget is a slower kernel, not a failure.
TEST(VdnnDyn, StepsDownFromAWorkspaceThatAloneDoesNotFit) {
  const Program program = with_workspace(std::int64_t{1} << 40);
  const std::int64_t least = planned(program, "vdnn-all").peak_bytes;
  for (const std::int64_t budget : {least, least * 2, least * 100}) {
    const Plan plan = dyn(program, budget).plan.value();
    EXPECT_EQ(plan.passes.back().name, budget == least ? "vdnn-all, greedy" : "vdnn-conv, greedy");
    EXPECT_EQ(kernels_at_their_fastest(plan), 0);
    EXPECT_LE(plan.peak_bytes, budget);
  }
}

TEST(VdnnDyn, StepsDownOnlyWhereTheBudgetWouldOverflow) {
  const Program program = with_workspace(2'000'000);
  const std::int64_t least = dyn(program, 0).infeasible.value().least_budget_bytes;
  std::set<std::int64_t> fast;
  for (std::int64_t more = 0; more <= 2'000'000; more += 100'000) {
    const Plan plan = dyn(program, least + more).plan.value();
    fast.insert(kernels_at_their_fastest(plan));
    for (const auto& choice : plan.choices) {
      const bool stepped_down = plan.assignment[choice.kernel.index()] != choice.fastest;
      const bool overflows = choice.room_bytes < 2'000'000;
      if (plan.passes.back().name.ends_with("greedy") && overflows) {
        EXPECT_TRUE(stepped_down);
      }
    }
  }
  EXPECT_GE(fast.size(), 4U) << "all kernels step down together";
}

TEST(VdnnDyn, AFewKernelsStepDownThroughSeveralCandidates) {
  Program program = with_workspace(std::int64_t{1} << 40);
  for (auto& kernel : program.kernels) {
    if (kernel.candidates.size() < 2) continue;
    kernel.candidates.push_back({.algorithm = "medium", .workspace_bytes = 4096, .seconds = 1.5e-3});
  }
  const std::int64_t budget = planned(program, "vdnn-all").peak_bytes * 2;
  const Plan plan = dyn(program, budget).plan.value();
  for (const auto& choice : plan.choices) EXPECT_EQ(plan.assignment[choice.kernel.index()], 2);
}

TEST(VdnnDyn, WithAGivenAssignmentOnlyTheMovementsDiffer) {
  const Program program = with_workspace(2'000'000);
  const std::vector<int> given = assign_candidates(program, Algorithms::performance);
  const std::int64_t most = dyn(program, kUnlimited).plan.value().peak_bytes;
  const std::int64_t all =
      make_plan(program, {.policy = "vdnn-all", .budget_bytes = kUnlimited, .assignment = given})
          .plan->peak_bytes;
  for (const std::int64_t budget : {most, most - 1, all}) {
    const Plan plan =
        make_plan(program, {.policy = "vdnn-dyn", .budget_bytes = budget, .assignment = given}).plan.value();
    EXPECT_EQ(plan.assignment, given);
    EXPECT_THAT(verify_plan(program, plan), IsEmpty());
    EXPECT_THAT(plan.choices, IsEmpty());
  }
  EXPECT_FALSE(make_plan(program, {.policy = "vdnn-dyn", .budget_bytes = all - 1, .assignment = given})
                   .plan.has_value());
}

// The algorithms of its own plans may be asked for again: they do not matter to it.
TEST(VdnnDyn, TakesTheAlgorithmsOfItsPlans) {
  const Program program = with_workspace(2'000'000);
  const std::int64_t budget = dyn(program, 0).infeasible.value().least_budget_bytes + 1'000'000;
  const Plan plan = dyn(program, budget).plan.value();
  ASSERT_EQ(plan.algorithms, Algorithms::mixed);
  const PlanRequest again{.policy = "vdnn-dyn", .algorithms = plan.algorithms, .budget_bytes = budget};
  EXPECT_EQ(make_plan(program, again).plan, plan);
}

TEST(VdnnDyn, SaysWhyEachLayerHasItsAlgorithm) {
  const Program program = with_workspace(std::int64_t{1} << 40);
  const std::int64_t budget = planned(program, "vdnn-all").peak_bytes * 2;
  const Plan plan = dyn(program, budget).plan.value();
  const auto slow = explain_plan(program, plan, simulate(program, plan, {})).algorithms;
  ASSERT_EQ(slow.size(), plan.choices.size());
  EXPECT_THAT(slow[0].kernel, HasSubstr("conv1 forward"));
  EXPECT_THAT(slow[0].why, HasSubstr("fast needs 1.00 TiB of workspace, the budget leaves"));
  const Plan free = dyn(program, kUnlimited).plan.value();
  EXPECT_THAT(explain_plan(program, free, simulate(program, free, {})).algorithms[0].why,
              HasSubstr("fastest"));
}

}  // namespace
}  // namespace vdnn::testing
