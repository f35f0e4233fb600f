#include "vdnn/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "support/error_message.h"
#include "support/faulty_tier.h"
#include "support/temporary_directory.h"
#include "support/training_run.h"
#include "vdnn/safetensors.h"

namespace vdnn::testing {
namespace {

constexpr std::int64_t kBatch = 8;
constexpr std::int64_t kClasses = 4;

// Maps of 8 x 24 x 32 x 32 floats, which move.
Graph small_network() {
  GraphBuilder b("small", {kBatch, 3, 32, 32});
  TensorId x = b.input();
  for (const char* name : {"one", "two", "three"}) {
    x = b.convolution(name, x, {.channels = 24, .kernel = {3, 3}, .padding = {1, 1}});
    x = b.relu(std::string(name) + "_relu", b.batch_norm(std::string(name) + "_norm", x));
  }
  x = b.max_pool("pool", x, {.kernel = {4, 4}, .stride = {4, 4}});
  x = b.dropout("dropout", b.relu("features_relu", b.fully_connected("features", x, {.features = 40})), {});
  b.softmax_cross_entropy("loss", b.fully_connected("classifier", x, {.features = kClasses}));
  return std::move(b).build();
}

class SessionOnCpu : public ::testing::Test {
 protected:
  [[nodiscard]] Plan plan(const char* policy = "vdnn-all") { return tightest_plan(job_, {.policy = policy}); }

  TemporaryDirectory cache_;
  Job job_{small_network(), {.device = "cpu", .threads = 2, .cache_directory = cache_.path()}};
};

TEST_F(SessionOnCpu, TrainsTheSameTwiceWithTheSameSeed) {
  const auto first = train(job_, plan(), {.seed = 7}, 4);
  const auto second = train(job_, plan(), {.seed = 7}, 4);
  EXPECT_EQ(first.losses, second.losses);
  EXPECT_EQ(first.digest, second.digest);
  EXPECT_EQ(first.digest.size(), 32U);
}

TEST_F(SessionOnCpu, TrainsDifferentlyWithAnotherSeed) {
  const auto first = train(job_, plan(), {.seed = 7});
  const auto second = train(job_, plan(), {.seed = 8});
  EXPECT_NE(first.losses, second.losses);
  EXPECT_NE(first.digest, second.digest);
}

TEST_F(SessionOnCpu, TheDigestChangesWithEveryStep) {
  Session session(job_, plan(), synthetic_data(job_.graph()), {});
  const std::string before = session.weights_digest();
  EXPECT_EQ(session.weights_digest(), before);
  session.step();
  EXPECT_NE(session.weights_digest(), before);
}

TEST_F(SessionOnCpu, StartsFromTheSameWeightsUnderEveryPlan) {
  std::vector<std::string> digests;
  for (const char* policy : {"oracle", "baseline", "vdnn-all"}) {
    Session session(job_, plan(policy), synthetic_data(job_.graph()), {.seed = 9});
    digests.push_back(session.weights_digest());
  }
  EXPECT_EQ(digests, std::vector<std::string>(3, digests[0]));
}

TEST_F(SessionOnCpu, RandomDelaysAndPoisonChangeNothing) {
  const auto plain = train(job_, plan(), {.seed = 7}, 4);
  const auto disturbed = train(job_, plan(), {.seed = 7, .poison = true, .random_delay_seconds = 0.002}, 4);
  EXPECT_EQ(plain.losses, disturbed.losses);
  EXPECT_EQ(plain.digest, disturbed.digest);
}

TEST_F(SessionOnCpu, LearnsToTellTheClassesApart) {
  Session session(job_, plan(), synthetic_data(job_.graph(), 4 * kBatch), {.learning_rate = 0.01});
  std::vector<double> losses;
  for (int step = 0; step < 40; ++step) losses.push_back(session.step().loss);
  const auto mean = [](auto begin, auto end) { return std::accumulate(begin, end, 0.0) / (end - begin); };
  EXPECT_LT(mean(losses.end() - 4, losses.end()), 0.5 * mean(losses.begin(), losses.begin() + 4));
}

TEST_F(SessionOnCpu, CountsStepsFromZeroAndBatchesOfAnEpoch) {
  Session session(job_, plan(), synthetic_data(job_.graph(), 3 * kBatch - 1), {});
  EXPECT_EQ(session.steps_per_epoch(), 2);
  for (std::int64_t step = 0; step < 5; ++step) EXPECT_EQ(session.step().step, step);
}

TEST_F(SessionOnCpu, MovesWhatThePlanMovesAndMeasuresIt) {
  const Plan all = plan();
  const Simulation simulation = simulate(job_.program(), all, {});
  const auto totals = train(job_, all, {.tier = std::make_shared<FaultyTier>()}, 3).totals;
  EXPECT_GT(simulation.offloaded_bytes, 0);
  EXPECT_EQ(totals.offloaded_bytes, 3 * simulation.offloaded_bytes);
  EXPECT_EQ(totals.prefetched_bytes, 3 * simulation.prefetched_bytes);
  EXPECT_GT(totals.times.offload_seconds, 0);
  EXPECT_GT(totals.times.prefetch_seconds, 0);
  EXPECT_GT(totals.times.kernel_seconds, 0);
  EXPECT_EQ(totals.tier, "memory for tests");
  EXPECT_EQ(train(job_, plan("baseline"), {}).totals.tier, "");
}

TEST_F(SessionOnCpu, VisitsEveryWeightWholeAndInOrder) {
  Session session(job_, plan(), synthetic_data(job_.graph()), {});
  std::vector<std::pair<std::string, std::int64_t>> visited;
  session.visit_weights([&](const Parameter& parameter, std::int64_t first, std::span<const float> values) {
    if (first == 0) visited.emplace_back(parameter.name, 0);
    ASSERT_EQ(visited.back(), std::pair(parameter.name, first));
    visited.back().second += static_cast<std::int64_t>(values.size());
  });
  std::vector<std::pair<std::string, std::int64_t>> expected;
  for (const auto& trained : job_.graph().parameters) {
    expected.emplace_back(trained.parameter.name, trained.parameter.shape.elements());
  }
  EXPECT_EQ(visited, expected);
}

TEST_F(SessionOnCpu, SavesTheWeightsThatItHas) {
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/weights.safetensors";
  Session session(job_, plan(), synthetic_data(job_.graph()), {});
  session.step();
  session.save(path);
  const auto saved = read_safetensors(path);
  const auto expected = weights(session);
  const auto& parameters = job_.graph().parameters;
  ASSERT_EQ(saved.size(), parameters.size());
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const auto& stored = saved.at(parameters[i].parameter.name);
    EXPECT_THAT(stored.shape, ::testing::ElementsAreArray(parameters[i].parameter.shape.dims()));
    EXPECT_EQ(stored.values, expected[i]) << parameters[i].parameter.name;
  }
}

TEST_F(SessionOnCpu, SavesNothingWhereItCannot) {
  const TemporaryDirectory directory;
  Session session(job_, plan(), synthetic_data(job_.graph()), {});
  EXPECT_THROW(session.save(directory.path() + "/missing/weights.safetensors"), StorageError);
  EXPECT_TRUE(directory.empty());
}

TEST_F(SessionOnCpu, RefusesDataOfLessThanABatch) {
  EXPECT_EQ(
      error_message<StorageError>(
          [&] { Session(job_, plan(), synthetic_data(job_.graph(), kBatch - 1), {}); }),
      "synthetic: 7 images of any size, 4 classes, seed 5 has 7 examples, fewer than one batch of 8; lower "
      "--batch");
}

TEST_F(SessionOnCpu, RefusesLabelsOfOtherClasses) {
  const std::shared_ptr<const Dataset> data = open_dataset("synthetic:64", 1000, 1);
  Session session(job_, plan(), data, {});
  EXPECT_THAT(
      error_message<DeviceError>([&] { session.step(); }),
      ::testing::MatchesRegex("step 0: softmax_cross_entropy loss forward failed: label [0-9]+ of example "
                              "[0-9] is not one of 4 classes"));
}

TEST_F(SessionOnCpu, RefusesABudgetOneByteBelowTheLeast) {
  for (const char* policy : {"baseline", "vdnn-conv", "vdnn-all"}) {
    PlanRequest request{.policy = policy};
    const std::int64_t least = least_budget_bytes(job_, request);
    request.budget_bytes = least - 1;
    try {
      job_.plan(request);
      FAIL() << policy << " fits below its least budget";
    } catch (const BudgetError& error) {
      EXPECT_EQ(error.least_budget_bytes(), least) << policy;
    }
    request.budget_bytes = least;
    EXPECT_EQ(job_.plan(request).peak_bytes, least) << policy;
  }
}

// Another session may have taken part of what was free when the budget was chosen.
TEST_F(SessionOnCpu, TakesWhatThePlanNeedsHoweverLargeTheBudget) {
  const Plan large = job_.plan({.policy = "baseline", .budget_bytes = std::int64_t{1} << 40});
  Session session(job_, large, synthetic_data(job_.graph()), {});
  session.step();
  EXPECT_LT(session.totals().peak_bytes, large.peak_bytes + 4096);
}

TEST_F(SessionOnCpu, RefusesAPlanThatNeedsMoreThanIsFree) {
  GraphBuilder b("huge", {1 << 20, 3, 224, 224});
  const TensorId x =
      b.max_pool("pool", b.convolution("convolution", b.input(), {.channels = 16}), {.global = true});
  b.softmax_cross_entropy("loss", b.fully_connected("classifier", x, {.features = kClasses}));
  Job huge(std::move(b).build(), {.device = "reference"});
  EXPECT_THROW(Session(huge, huge.plan({.policy = "oracle"}), synthetic_data(huge.graph()), {}), BudgetError);
}

TEST_F(SessionOnCpu, AFailingTierEndsTheRunWithItsError) {
  const auto run = [&](const FaultyTier::Faults& faults) {
    return error_message<StorageError>(
        [&] { train(job_, plan(), {.tier = std::make_shared<FaultyTier>(faults)}); });
  };
  EXPECT_EQ(run({.write = 2}), "write 2 fails");
  EXPECT_EQ(run({.read = 3}), "read 3 fails");
}

TEST_F(SessionOnCpu, RunsTheSameJobUnderTwoPlansAtATime) {
  Session lean(job_, plan(), synthetic_data(job_.graph()), {});
  Session wide(job_, plan("baseline"), synthetic_data(job_.graph()), {});
  for (int step = 0; step < 3; ++step) EXPECT_EQ(lean.step().loss, wide.step().loss) << step;
  EXPECT_EQ(lean.weights_digest(), wide.weights_digest());
}

TEST_F(SessionOnCpu, TrainsUnderAPlanThatWasWrittenAndReadBack) {
  const Plan original = plan();
  const auto read_back = read_plan(to_json(original));
  EXPECT_EQ(train(job_, read_back, {}).digest, train(job_, original, {}).digest);
}

TEST_F(SessionOnCpu, PlansTheBestPolicyThatFits) {
  constexpr std::int64_t kMuch = std::int64_t{1} << 33;
  const std::int64_t all = least_budget_bytes(job_, {.policy = "vdnn-all"});
  const std::int64_t baseline = least_budget_bytes(job_, {.policy = "baseline"});
  EXPECT_EQ(job_.plan_best(kMuch).policy, "auto");
  EXPECT_EQ(job_.plan_best(kMuch, Algorithms::memory).policy, "baseline");
  EXPECT_LT(all, baseline);
  EXPECT_EQ(job_.plan_best(all, Algorithms::memory).policy, "vdnn-all");
  EXPECT_EQ(job_.plan_best(all).policy, "auto");
  EXPECT_THROW(job_.plan_best(1), BudgetError);
  EXPECT_THROW(job_.plan_best(1, Algorithms::memory), BudgetError);
}

}  // namespace
}  // namespace vdnn::testing
