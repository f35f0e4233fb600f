#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>

#include "plan/lowered.h"

// The plan rules of docs/architecture.md over random networks x every registered policy x algorithms x
// budgets.
namespace vdnn::testing {
namespace {

using ::testing::IsEmpty;

#ifdef __SANITIZE_ADDRESS__
constexpr std::uint64_t kSeeds = 4;  // twenty times as slow
#else
constexpr std::uint64_t kSeeds = 40;
#endif

struct Case {
  PolicyInfo policy;
  std::shared_ptr<const Program> program_;
  const Program& program;
  PlanRequest request;
  Plan plan;
  std::string name;
};

std::int64_t least_budget_bytes(const Program& program, PlanRequest request) {
  request.budget_bytes = 0;
  return make_plan(program, request).infeasible.value().least_budget_bytes;
}

// Plans with unlimited memory, with the least that works, and with budgets between.
void add_plans(std::uint64_t seed, std::vector<Case>& cases) {
  const auto program = std::make_shared<const Program>(random_program(seed));
  for (const auto& policy : policies()) {
    for (const auto algorithms : {Algorithms::memory, Algorithms::performance}) {
      if (policy.chooses_algorithms && algorithms == Algorithms::performance) continue;
      PlanRequest request{.policy = policy.name, .algorithms = algorithms, .budget_bytes = kUnlimited};
      const auto add = [&] {
        cases.push_back(
            {policy, program, *program, request, make_plan(*program, request).plan.value(),
             fmt::format("seed {} {} {} in {}, {} near", seed, policy.name, algorithms_name(algorithms),
                         request.budget_bytes, request.links.near_capacity_bytes)});
        return cases.back().plan.peak_bytes;
      };
      const std::int64_t unlimited = add();
      const std::int64_t least = policy.unlimited ? unlimited : least_budget_bytes(*program, request);
      for (const std::int64_t eighths : {0, 1, 3, 6, 8, 9}) {
        request.budget_bytes = least + (unlimited - least) * eighths / 8;
        add();
        if (least == unlimited) break;
        // Half of what moves has to go to the far tier.
        request.links.near_capacity_bytes = cases.back().plan.tier_bytes / 2;
        if (request.links.near_capacity_bytes > 0) add();
        request.links.near_capacity_bytes = Links{}.near_capacity_bytes;
      }
    }
  }
}

// Made once, looked at by every test.
const std::vector<Case>& all_cases() {
  static const std::vector<Case> cases = [] {
    std::vector<Case> all;
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) add_plans(seed, all);
    return all;
  }();
  return cases;
}

void for_each_plan(const std::function<void(const Case&)>& visit) {
  for (const auto& one : all_cases()) {
    SCOPED_TRACE(one.name);
    visit(one);
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(PlanProperties, EveryPlanIsVerified) {
  for_each_plan([](const Case& c) { EXPECT_THAT(verify_plan(c.program, c.plan), IsEmpty()); });
}

TEST(PlanProperties, P3ThePeakIsWithinTheBudget) {
  for_each_plan([](const Case& c) {
    EXPECT_LE(c.plan.peak_bytes, c.plan.budget_bytes);
    if (!c.policy.unlimited) {
      EXPECT_EQ(c.plan.budget_bytes, c.request.budget_bytes);
    }
  });
}

TEST(PlanProperties, P4TheSimulatedPeakIsTheStatedOne) {
  for_each_plan([](const Case& c) {
    const Simulation simulation = simulate(c.program, c.plan, {});
    EXPECT_EQ(simulation.peak_bytes, c.plan.peak_bytes);
    EXPECT_LE(simulation.peak_live_bytes, simulation.peak_bytes);
  });
}

TEST(PlanProperties, P5WithEnoughMemoryNothingMovesAndTheFastestKernelsRun) {
  int bound = 0;
  for_each_plan([&](const Case& c) {
    if (!c.policy.still_where_all_fits || c.request.budget_bytes != kUnlimited) return;
    ++bound;
    EXPECT_EQ(c.plan.tier_bytes, 0);
    EXPECT_EQ(simulate(c.program, c.plan, {}).offloaded_bytes, 0);
    EXPECT_EQ(c.plan.assignment, assign_candidates(c.program, Algorithms::performance));
  });
  EXPECT_GT(bound, 0);
}

TEST(PlanProperties, TheNearTierHoldsNoMoreThanItsCapacity) {
  int with_far_tier = 0;
  for_each_plan([&](const Case& c) {
    EXPECT_LE(c.plan.tier_bytes, c.request.links.near_capacity_bytes);
    with_far_tier += c.plan.far_tier_bytes > 0 ? 1 : 0;
  });
  EXPECT_GT(with_far_tier, 10);
}

TEST(PlanProperties, P6ThePeakHoldsTheLargestWorkingSetOfAKernel) {
  for_each_plan([](const Case& c) {
    for (std::size_t k = 0; k < c.program.kernels.size(); ++k) {
      const Kernel& kernel = c.program.kernels[k];
      const auto& candidate = kernel.candidates[static_cast<std::size_t>(c.plan.assignment[k])];
      EXPECT_GE(c.plan.peak_bytes, working_set_bytes(c.program, kernel, candidate)) << kernel.name;
    }
  });
}

TEST(PlanProperties, P7TheSameRequestGivesTheSamePlan) {
  for_each_plan([](const Case& c) {
    EXPECT_EQ(make_plan(c.program, c.request).plan, c.plan);
    EXPECT_EQ(to_json(make_plan(c.program, c.request).plan.value()), to_json(c.plan));
  });
}

TEST(PlanProperties, P7APlanIsOneThatItsPolicyMakes) {
  for_each_plan([](const Case& c) { EXPECT_THAT(verify_origin(c.program, c.plan), ::testing::IsEmpty()); });
}

TEST(PlanProperties, P8APlanWrittenAndReadBackIsEqual) {
  for_each_plan([](const Case& c) { EXPECT_EQ(read_plan(to_json(c.plan)), c.plan); });
}

TEST(PlanProperties, P9EveryOffsetHasItsAlignment) {
  for_each_plan([](const Case& c) {
    for (const auto& placement : c.plan.placements) {
      const std::int64_t alignment =
          placement.buffer.valid() ? c.program.buffer(placement.buffer).alignment_bytes : 64;
      EXPECT_EQ(placement.offset_bytes % alignment, 0);
    }
  });
}

// What goes down comes back once (under a policy that drops what the tier has, at least once), and only where
// the policy says that it moves anything.
TEST(PlanProperties, EveryOffloadedByteComesBack) {
  std::int64_t moving_plans = 0;
  for_each_plan([&](const Case& c) {
    const Simulation simulation = simulate(c.program, c.plan, {});
    if (c.policy.weighs_times) {
      EXPECT_LE(simulation.offloaded_bytes, simulation.prefetched_bytes);
    } else {
      EXPECT_EQ(simulation.offloaded_bytes, simulation.prefetched_bytes);
    }
    if (!c.policy.offloads) {
      EXPECT_EQ(simulation.offloaded_bytes, 0);
    } else if (simulation.offloaded_bytes > 0) {
      ++moving_plans;
    }
  });
  EXPECT_GE(moving_plans, 2 * static_cast<std::int64_t>(kSeeds))
      << "the random networks are too small to test copies";
}

TEST(PlanProperties, TheKernelsAreThoseOfTheAlgorithms) {
  for_each_plan([](const Case& c) {
    if (c.policy.chooses_algorithms) return;
    EXPECT_EQ(c.plan.assignment, assign_candidates(c.program, c.request.algorithms));
  });
}

TEST(PlanProperties, AGivenAssignmentIsKept) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const Program program = random_program(seed);
    std::vector<int> last;
    for (const auto& kernel : program.kernels) last.push_back(static_cast<int>(kernel.candidates.size()) - 1);
    for (const auto& policy : policies()) {
      const PlanResult result =
          make_plan(program, {.policy = policy.name, .budget_bytes = kUnlimited, .assignment = last});
      EXPECT_EQ(result.plan.value().assignment, last);
      EXPECT_THAT(verify_plan(program, *result.plan), IsEmpty());
    }
  }
}

TEST(PlanProperties, TheLeastBudgetWorksAndAByteLessIsRefusedWithTheSameLeastBudget) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const Program program = random_program(seed);
    for (const auto& policy : policies()) {
      if (policy.unlimited) continue;
      for (const auto algorithms : {Algorithms::memory, Algorithms::performance}) {
        SCOPED_TRACE(fmt::format("seed {} {} {}", seed, policy.name, algorithms_name(algorithms)));
        PlanRequest request{.policy = policy.name, .algorithms = algorithms, .budget_bytes = 0};
        const PlanResult nothing = make_plan(program, request);
        ASSERT_FALSE(nothing.plan.has_value());
        const std::int64_t least = nothing.infeasible.value().least_budget_bytes;
        request.budget_bytes = least;
        const PlanResult enough = make_plan(program, request);
        ASSERT_TRUE(enough.plan.has_value());
        EXPECT_FALSE(enough.infeasible.has_value());
        // A policy that searches may find another way to take even less.
        EXPECT_LE(enough.plan->peak_bytes, least);
        if (!policy.chooses_algorithms) {
          EXPECT_EQ(enough.plan->peak_bytes, least);
        }
        request.budget_bytes = least - 1;
        const PlanResult short_of_a_byte = make_plan(program, request);
        ASSERT_TRUE(short_of_a_byte.infeasible.has_value());
        EXPECT_FALSE(short_of_a_byte.plan.has_value());
        EXPECT_EQ(short_of_a_byte.infeasible->least_budget_bytes, least);
      }
    }
  }
}

TEST(PlanProperties, AShortageNamesAKernelAndItsBuffersLargestFirst) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const Program program = random_program(seed);
    const Infeasible shortage = make_plan(program, {.policy = "vdnn-all"}).infeasible.value();
    ASSERT_LT(shortage.kernel.index(), program.kernels.size());
    std::int64_t bytes = shortage.workspace_bytes;
    for (std::size_t i = 0; i < shortage.live_buffers.size(); ++i) {
      bytes += program.buffer(shortage.live_buffers[i]).placed_bytes();
      if (i == 0) continue;
      EXPECT_GE(program.buffer(shortage.live_buffers[i - 1]).bytes,
                program.buffer(shortage.live_buffers[i]).bytes);
    }
    EXPECT_LE(bytes, shortage.least_budget_bytes);
    for (const auto& view : program.kernel(shortage.kernel).reads) {
      EXPECT_THAT(shortage.live_buffers, ::testing::Contains(view.buffer));
    }
  }
}

TEST(PlanProperties, TheOracleIgnoresTheBudget) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const Program program = random_program(seed);
    const Plan plan = planned(program, "oracle", 0, Algorithms::performance);
    EXPECT_EQ(plan.budget_bytes, plan.peak_bytes);
    EXPECT_EQ(plan, planned(program, "oracle", kUnlimited, Algorithms::performance));
    EXPECT_THAT(verify_plan(program, plan), IsEmpty());
  }
}

// Sharing addresses and moving maps never needs more than giving everything an address of its own.
TEST(PlanProperties, NoPolicyNeedsMoreThanTheBaseline) {
  for_each_plan([](const Case& c) {
    const Algorithms algorithms =
        c.policy.chooses_algorithms ? Algorithms::performance : c.request.algorithms;
    EXPECT_LE(c.plan.peak_bytes, planned(c.program, "baseline", kUnlimited, algorithms).peak_bytes);
  });
}

}  // namespace
}  // namespace vdnn::testing
