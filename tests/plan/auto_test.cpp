#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <ostream>

#include "plan/lowered.h"
#include "vdnn/bounds.h"
#include "vdnn/bytes.h"
#include "vdnn/session.h"
#include "vdnn/zoo.h"

// What `auto` promises, on networks of the zoo on a described machine.
namespace vdnn::testing {
namespace {

struct Network {
  const char* name;
  std::int64_t batch;
  friend std::ostream& operator<<(std::ostream& out, const Network& network) { return out << network.name; }
};

class AutoOnTheZoo : public ::testing::TestWithParam<Network> {
 protected:
  AutoOnTheZoo()
      : job_(make_model(GetParam().name, {.batch = GetParam().batch}), {.device = "profile:titan-x"}) {}

  [[nodiscard]] PlanResult planned(const std::string& policy, std::int64_t budget_bytes,
                                   Algorithms algorithms = Algorithms::performance) {
    return make_plan(
        job_.program(),
        {.policy = policy, .algorithms = algorithms, .budget_bytes = budget_bytes, .links = job_.links()});
  }
  [[nodiscard]] double seconds(const Plan& plan) {
    return simulate(job_.program(), plan, job_.links()).step_seconds;
  }
  [[nodiscard]] std::int64_t least_budget() {
    return planned("auto", 1).infeasible.value().least_budget_bytes;
  }
  [[nodiscard]] std::int64_t all() { return planned("auto", kUnlimited).plan.value().peak_bytes; }

  Job job_;
};

TEST_P(AutoOnTheZoo, AsTheBudgetFallsThePeakNeverRisesAndTimeNeverFalls) {
  const std::int64_t least = least_budget();
  const std::int64_t most = all();
#ifdef __SANITIZE_ADDRESS__
  constexpr int kBudgets = 3;  // ten times as slow
#else
  constexpr int kBudgets = 12;
#endif
  std::int64_t peak_before = 0;
  double seconds_before = HUGE_VAL;
  for (int i = 0; i < kBudgets; ++i) {
    const std::int64_t budget = least + (most - least) * i / (kBudgets - 1);
    const Plan plan = planned("auto", budget).plan.value();
    EXPECT_THAT(verify_plan(job_.program(), plan), ::testing::IsEmpty());
    EXPECT_LE(plan.peak_bytes, budget);
    EXPECT_GE(plan.peak_bytes, peak_before) << format_bytes(budget);
    EXPECT_LE(seconds(plan), seconds_before) << format_bytes(budget);
    constexpr double kRounding = 1 - 1e-6;  // the simulator counts nanoseconds
    EXPECT_GE(seconds(plan), kRounding * time_bound(job_.program(), budget, job_.links()).seconds());
    peak_before = plan.peak_bytes;
    seconds_before = seconds(plan);
  }
}

TEST_P(AutoOnTheZoo, IsNeverSlowerThanAPolicyOfThePaperThatFits) {
  const std::int64_t least = least_budget();
  const std::int64_t most = all();
  for (const int tenths : {1, 3, 5, 8, 10}) {
    const std::int64_t budget = least + (most - least) * tenths / 10;
    const double ours = seconds(planned("auto", budget).plan.value());
    for (const char* policy : {"baseline", "vdnn-conv", "vdnn-all", "vdnn-dyn"}) {
      for (const auto algorithms : {Algorithms::memory, Algorithms::performance}) {
        const auto other = planned(policy, budget, algorithms).plan;
        if (!other) continue;
        EXPECT_LE(ours, seconds(*other)) << policy << " in " << format_bytes(budget);
      }
    }
  }
}

TEST_P(AutoOnTheZoo, TheLeastBudgetIsNearTheLargestWorkingSet) {
  const std::int64_t least = least_budget();
  const std::int64_t bound = least_memory_bound_bytes(job_.program());
  const Plan plan = planned("auto", least).plan.value();
  EXPECT_EQ(plan.peak_bytes, least);
  EXPECT_FALSE(planned("auto", least - 1).plan);
  const double ratio = static_cast<double>(least) / static_cast<double>(bound);
  fmt::print("{}: least budget {}, lower bound {}, ratio {:.3f}\n", GetParam().name, format_bytes(least),
             format_bytes(bound), ratio);
  EXPECT_GE(least, bound);
  EXPECT_LE(ratio, 1.02);
}

// What packing adds to the bytes that are live at the peak.
TEST_P(AutoOnTheZoo, PacksClosely) {
  const std::int64_t least = least_budget();
  const std::int64_t most = all();
  double worst = 1;
  double sum = 0;
  constexpr int kBudgets = 6;
  for (int i = 0; i < kBudgets; ++i) {
    const Plan plan = planned("auto", least + (most - least) * i / (kBudgets - 1)).plan.value();
    const double ratio = static_cast<double>(plan.peak_bytes) /
                         static_cast<double>(simulate(job_.program(), plan, job_.links()).peak_live_bytes);
    worst = std::max(worst, ratio);
    sum += ratio;
  }
  fmt::print("{}: peak over live bytes, mean {:.4f}, worst {:.4f}\n", GetParam().name, sum / kBudgets, worst);
  EXPECT_LE(worst, 1.02);
}

TEST_P(AutoOnTheZoo, WithEnoughMemoryNothingMoves) {
  const Plan plan = planned("auto", all()).plan.value();
  EXPECT_EQ(plan.tier_bytes, 0);
  EXPECT_EQ(plan.assignment, assign_candidates(job_.program(), Algorithms::performance));
}

std::string network_name(const ::testing::TestParamInfo<Network>& of) {
  std::string name = of.param.name;
  std::erase(name, '-');
  return name;
}

#ifdef __SANITIZE_ADDRESS__
const auto kNetworks = ::testing::Values(Network{"alexnet", 128}, Network{"vgg-16", 64});
#else
const auto kNetworks = ::testing::Values(
    Network{"alexnet", 128}, Network{"overfeat", 128}, Network{"googlenet", 128},
    Network{"googlenet-plain", 128}, Network{"vgg-16", 64}, Network{"vgg-116", 32}, Network{"vgg-216", 32},
    Network{"vgg-316", 32}, Network{"vgg-416", 32}, Network{"resnet-50", 64});
#endif

INSTANTIATE_TEST_SUITE_P(Zoo, AutoOnTheZoo, kNetworks, network_name);

// Weights, gradients and momentum of VGG-16 take 1.6 GB.
TEST(Auto, TrainsInLessThanItsWeightsTake) {
  Job job(make_model("vgg-16", {.batch = 8}), {.device = "cpu"});
  std::int64_t weights = 0;
  for (const auto& buffer : job.program().buffers) {
    if (buffer.persistent && buffer.role != Role::input) weights += buffer.placed_bytes();
  }
  const PlanResult result = make_plan(job.program(), {.policy = "auto", .budget_bytes = 1});
  EXPECT_LT(result.infeasible.value().least_budget_bytes, weights);
}

// What finds no place in the nearest tier is priced as the slow one behind it: most of it is recomputed.
TEST(Auto, RecomputesRatherThanCopyToASlowTier) {
  Job job(make_model("googlenet", {.batch = 256}), {.device = "profile:rtx-4060-8gb"});
  PlanRequest request{.policy = "auto", .budget_bytes = parse_bytes("2.1GiB"), .links = job.links()};
  const auto planned = [&] { return make_plan(job.program(), request).plan.value(); };
  const Plan free = planned();
  const double free_seconds = simulate(job.program(), free, request.links).step_seconds;
  for (const std::int64_t share : {4, 2, 1}) {
    request.links.near_capacity_bytes = free.tier_bytes * (share - 1) / share;
    const Plan capped = planned();
    EXPECT_THAT(verify_plan(job.program(), capped), ::testing::IsEmpty());
    EXPECT_LE(capped.tier_bytes, request.links.near_capacity_bytes);
    EXPECT_LE(capped.far_tier_bytes, free.tier_bytes / 4) << share;
    EXPECT_LE(simulate(job.program(), capped, request.links).step_seconds, 1.1 * free_seconds) << share;
  }
}

TEST(Auto, GivesEachKernelAReasonForItsAlgorithm) {
  Job job(make_model("alexnet", {.batch = 128}), {.device = "profile:titan-x-cudnn4"});
  const Plan plan = job.plan({.policy = "auto", .budget_bytes = parse_bytes("600MiB")});
  EXPECT_EQ(plan.algorithms, Algorithms::mixed);
  EXPECT_FALSE(plan.choices.empty());
  ASSERT_EQ(plan.passes.size(), 1U);
  EXPECT_EQ(plan.passes[0].peak_bytes, plan.peak_bytes);
}

}  // namespace
}  // namespace vdnn::testing
