#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/parallel_for.h"
#include "plan/lowered.h"
#include "plan/policies/residency.h"
#include "plan/schedule.h"

// Plans of random networks for random limits, links and stalls, with kernels launched again, each verified.
// VDNN_RANDOM_PLANS says how many; `make test-million` takes a million.
namespace vdnn::testing {
namespace {

#ifdef __SANITIZE_ADDRESS__
constexpr std::int64_t kPlans = 5'000;  // ten times as slow
#else
constexpr std::int64_t kPlans = 100'000;
#endif

std::int64_t plans_asked() {
  const char* asked = std::getenv("VDNN_RANDOM_PLANS");
  return asked != nullptr ? std::atoll(asked) : kPlans;
}

struct Tally {
  std::int64_t plans = 0;
  std::int64_t with_copies = 0;
  std::int64_t with_both_tiers = 0;
  std::int64_t with_recomputations = 0;
  std::int64_t away_between_steps = 0;
  std::string violation;
};

class RandomPlans {
 public:
  RandomPlans(std::uint64_t seed, Tally& tally)
      : draws_(seed), seed_(seed), tally_(tally), program_(random_program(seed)) {
    request_.policy = "auto";
    request_.budget_bytes = kUnlimited;
    const double bytes_per_second = draws_.one_of<double>({1e7, 1e9, 1e11});
    request_.links = {.offload_bytes_per_s = bytes_per_second,
                      .prefetch_bytes_per_s = 0.7 * bytes_per_second,
                      .near_capacity_bytes = draws_.one_of<std::int64_t>({INT64_MAX, 0, 1 << 17, 1 << 20})};
  }

  void make(int count) {
    const ResidencyPlanner once(problem_, each_once(program_));
    for (int i = 0; i < count && tally_.violation.empty(); ++i) plan_for_a_limit(once);
  }

 private:
  void plan_for_a_limit(const ResidencyPlanner& once) {
    const std::int64_t limit = draws_.between(once.least_bytes() / 2, once.most_bytes());
    const ResidencyPlanner::Limits limits = {limit, draws_.chance(0.5) ? limit : draws_.between(0, limit)};
    std::vector<double> stalls(program_.buffers.size(), 0);
    for (auto& seconds : stalls) {
      if (draws_.chance(0.3)) seconds = 1e-6 * static_cast<double>(draws_.between(0, 10'000));
    }
    auto result = once.plan(limits, stalls);
    check(result);
    for (int depth = 0; depth < 3 && !result.with_recomputations.empty(); ++depth) {
      result = ResidencyPlanner(problem_, std::move(result.with_recomputations)).plan(limits, stalls);
      check(result);
    }
  }

  void check(const ResidencyPlanner::Result& result) {
    Plan plan = plan_decisions(problem_, result.decisions, result.assignment).plan.value();
    plan.program_fingerprint = fingerprint_;
    plan.policy = "a search for a limit";  // bound by no budget
    plan.budget_bytes = plan.peak_bytes;
    order_accesses(program_, plan.steps, plan.placements);
    ++tally_.plans;
    tally_.with_copies += plan.tier_bytes + plan.far_tier_bytes > 0 ? 1 : 0;
    tally_.with_both_tiers += plan.tier_bytes > 0 && plan.far_tier_bytes > 0 ? 1 : 0;
    tally_.with_recomputations += result.decisions.launches.size() > program_.kernels.size() ? 1 : 0;
    tally_.away_between_steps +=
        std::any_of(result.decisions.movements.begin(), result.decisions.movements.end(),
                    [](const Movement& movement) { return movement.goes_round; })
            ? 1
            : 0;
    const auto violations = verify_plan(program_, plan);
    if (!violations.empty() && tally_.violation.empty())
      tally_.violation = fmt::format("seed {}: {}", seed_, violations.front());
  }

  RandomDraws draws_;
  std::uint64_t seed_;
  Tally& tally_;
  Program program_;
  std::uint64_t fingerprint_ = fingerprint(program_);
  PlanRequest request_;
  Uses uses_ = find_uses(program_, each_once(program_));
  PlanProblem problem_{program_, request_, uses_};
};

TEST(RandomPlans, EveryOneIsVerified) {
  constexpr std::size_t kThreads = 8;
  constexpr int kLimitsByProgram = 20;
  std::vector<Tally> tallies(kThreads);
  parallel_for(kThreads, [&](std::size_t thread) {
    Tally& tally = tallies[thread];
    for (std::uint64_t seed = thread;
         tally.plans < plans_asked() / static_cast<std::int64_t>(kThreads) && tally.violation.empty();
         seed += kThreads)
      RandomPlans(seed, tally).make(kLimitsByProgram);
  });
  Tally sum;
  for (const auto& tally : tallies) {
    EXPECT_EQ(tally.violation, "");
    sum.plans += tally.plans;
    sum.with_copies += tally.with_copies;
    sum.with_both_tiers += tally.with_both_tiers;
    sum.with_recomputations += tally.with_recomputations;
    sum.away_between_steps += tally.away_between_steps;
  }
  fmt::print("{} plans: {} with copies, {} with kernels launched again, {} away between steps\n", sum.plans,
             sum.with_copies, sum.with_recomputations, sum.away_between_steps);
  EXPECT_GE(sum.plans, plans_asked() / 8 * 8);
  EXPECT_GT(sum.with_copies, sum.plans / 10);
  EXPECT_GT(sum.with_both_tiers, sum.plans / 100);
  EXPECT_GT(sum.with_recomputations, sum.plans / 100);
  EXPECT_GT(sum.away_between_steps, sum.plans / 100);
}

}  // namespace
}  // namespace vdnn::testing
