#include "vdnn/replan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "run/moving_networks.h"
#include "support/error_message.h"
#include "support/temporary_directory.h"
#include "support/training_run.h"

namespace vdnn::testing {
namespace {

// Weights of 1.1 MB in doubles, so that they move, too.
Graph network() {
  GraphBuilder b("with_large_weights", {2, 3, 48, 48});
  auto x = convolution_relu(b, "one", b.input(), 4);
  x = b.batch_norm("norm", convolution_relu(b, "two", x, 4));
  x = b.max_pool("pool", x, {.kernel = {4, 4}, .stride = {4, 4}});
  x = b.dropout("dropout", b.relu("fc1_relu", b.fully_connected("fc1", x, {.features = 64})),
                {.probability = 0.4});
  b.softmax_cross_entropy("loss", b.fully_connected("fc2", x, {.features = 5}));
  return std::move(b).build();
}

class ChangingPlans : public ::testing::Test {
 protected:
  Plan planned(std::int64_t eighths, std::vector<int> assignment) {
    PlanRequest request{.policy = "auto", .assignment = std::move(assignment)};
    const std::int64_t least = least_budget_bytes(job_, request);
    request.budget_bytes = INT64_MAX / 4;
    const std::int64_t most = job_.plan(request).peak_bytes;
    request.budget_bytes = least + (most - least) * eighths / 8;
    return job_.plan(request);
  }
  Plan planned(std::int64_t eighths) {
    return planned(eighths, std::vector<int>(job_.program().kernels.size(), 0));
  }
  // When a plan's steps run, kernels and copies slower than assumed by these.
  StepTimes times(const Plan& plan, double kernels, double copies) {
    Program program = job_.program();
    for (auto& kernel : program.kernels) {
      for (auto& candidate : kernel.candidates) candidate.seconds *= kernels;
    }
    return simulate(program, plan,
                    {.offload_bytes_per_s = kLinks.offload_bytes_per_s / copies,
                     .prefetch_bytes_per_s = kLinks.prefetch_bytes_per_s / copies})
        .step_nanoseconds;
  }

  static constexpr Links kLinks = {.offload_bytes_per_s = 5e8, .prefetch_bytes_per_s = 5e8};
  TemporaryDirectory cache_;
  TemporaryDirectory spill_;
  Job job_{network(), {.device = "reference", .cache_directory = cache_.path(), .links = kLinks}};
};

TEST_F(ChangingPlans, LeavesEveryBitAsItWas) {
  const std::vector<Plan> plans = {planned(0), planned(8), planned(3), planned(0)};
  const auto oracle = train(job_, unlimited_plan(job_, plans[0].assignment), {}, 8);
  EXPECT_GT(plans[0].tier_bytes, 0);
  EXPECT_EQ(plans[1].tier_bytes, 0);
  Session session(job_, plans[0], synthetic_data(job_.graph()),
                  {.spill_directory = spill_.path(), .poison = true});
  std::vector<double> losses;
  std::int64_t offloaded = 0;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    if (i > 0) session.change_plan(plans[i]);
    EXPECT_EQ(session.plan(), plans[i]);
    for (int step = 0; step < 2; ++step) losses.push_back(session.step().loss);
    offloaded += 2 * simulate(job_.program(), plans[i], {}).offloaded_bytes;
  }
  EXPECT_EQ(losses, oracle.losses);
  EXPECT_EQ(session.weights_digest(), oracle.digest);
  EXPECT_EQ(session.totals().offloaded_bytes, offloaded);
}

TEST_F(ChangingPlans, OtherCandidatesAreRefusedAndTheSessionGoesOn) {
  const Plan plan = planned(1);
  const auto whole = train(job_, plan, {}, 3);
  Session session(job_, plan, synthetic_data(job_.graph()), {.spill_directory = spill_.path()});
  std::vector<double> losses = {session.step().loss};
  Plan other = plan;
  other.assignment[0] = 7;
  EXPECT_THROW(session.change_plan(other), UsageError);
  Plan broken = planned(3);
  broken.steps.pop_back();
  EXPECT_THROW(session.change_plan(broken), UsageError);
  losses.push_back(session.step().loss);
  losses.push_back(session.step().loss);
  EXPECT_EQ(losses, whole.losses);
  EXPECT_EQ(session.weights_digest(), whole.digest);
}

TEST_F(ChangingPlans, WhereTheDiskFailsTheSessionGoesOn) {
  const Plan plan = planned(8);  // moves nothing
  const auto whole = train(job_, plan, {}, 2);
  Session session(job_, plan, synthetic_data(job_.graph()), {.spill_directory = "/nowhere"});
  std::vector<double> losses = {session.step().loss};
  EXPECT_THROW(session.change_plan(planned(2)), StorageError);
  losses.push_back(session.step().loss);
  EXPECT_EQ(losses, whole.losses);
  EXPECT_EQ(session.weights_digest(), whole.digest);
}

TEST_F(ChangingPlans, NothingChangesWhereTimesAreAsAssumed) {
  const Plan plan = planned(2);
  EXPECT_FALSE(replan(job_, plan, {times(plan, 1, 1), times(plan, 1.1, 0.9)}));
  EXPECT_FALSE(replan(job_, plan, {}));
  const Plan paper = job_.plan({.policy = "vdnn-all", .budget_bytes = INT64_MAX / 4});
  EXPECT_FALSE(replan(job_, paper, {times(paper, 1, 50)}));
}

TEST_F(ChangingPlans, WhereCopiesAreFarSlowerAFasterPlanForThemIsFound) {
  int found = 0;
  for (const int eighths : {1, 2, 3, 4, 5, 6}) {
    const Plan plan = planned(eighths);
    const auto better = replan(job_, plan, {times(plan, 1, 40), times(plan, 1, 40), times(plan, 1, 40)});
    if (!better) continue;
    ++found;
    EXPECT_EQ(better->plan.assignment, plan.assignment);
    EXPECT_LE(better->plan.peak_bytes, plan.budget_bytes);
    EXPECT_NEAR(better->ratio(StreamKind::offload), 40, 0.5);
    EXPECT_NEAR(better->ratio(StreamKind::compute), 1, 0.05);
    EXPECT_LT(better->seconds_now, better->seconds_before);
    EXPECT_THAT(verify_plan(job_.program(), better->plan), ::testing::IsEmpty());
  }
  EXPECT_GT(found, 0);
}

}  // namespace
}  // namespace vdnn::testing
