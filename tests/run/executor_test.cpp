#include "vdnn/executor.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "run/moving_networks.h"
#include "support/error_message.h"
#include "support/faulty_tier.h"
#include "support/random_graph.h"
#include "support/temporary_directory.h"
#include "support/training_run.h"

namespace vdnn::testing {
namespace {

constexpr double kDelaySeconds = 0.002;

PlanRequest request(const std::string& policy) {
  return {.policy = policy, .algorithms = Algorithms::memory};
}

void expect_same_training(const TrainingRun& run, const TrainingRun& oracle, const std::string& what) {
  EXPECT_EQ(run.losses, oracle.losses) << what;
  EXPECT_EQ(run.digest, oracle.digest) << what;
}

// Every policy at its least budget against unlimited memory; returns the bytes that were moved.
std::int64_t expect_policies_change_nothing(const Graph& graph, std::uint64_t seed) {
  const TemporaryDirectory cache;
  Job job(graph, {.device = "reference", .cache_directory = cache.path(), .links = Links{}});
  const auto oracle = train(job, job.plan(request("oracle")), {.seed = seed});
  std::int64_t moved = 0;
  for (const auto& policy : policies()) {
    const Plan plan = tightest_plan(job, request(policy.name));
    for (const bool poison : {false, true}) {
      const auto run = train(job, plan,
                             {.seed = seed,
                              .tier = std::make_shared<FaultyTier>(),
                              .poison = poison,
                              .random_delay_seconds = kDelaySeconds});
      expect_same_training(run, oracle, fmt::format("{}, {}, poison {}", graph.name(), policy.name, poison));
      EXPECT_EQ(run.totals.executed_peak_bytes, simulate(job.program(), plan, {}).peak_bytes) << "P4";
      EXPECT_LE(run.totals.executed_peak_bytes, plan.peak_bytes);
      moved += run.totals.offloaded_bytes;
    }
  }
  return moved;
}

TEST(Executor, TrainsRandomNetworksBitForBitUnderEveryPolicy) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    expect_policies_change_nothing(random_graph(seed), seed);
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
  }
}

TEST(Executor, TrainsNetworksWhoseMapsMoveBitForBitUnderEveryPolicy) {
  for (const auto& graph : moving_networks()) {
    EXPECT_GT(expect_policies_change_nothing(graph, 1), 0) << graph.name();
  }
}

// Where copies are slow, kernels run again instead: among them batch norm, dropout and pooling.
TEST(Executor, LaunchesKernelsAgainBitForBit) {
  std::size_t again = 0;
  std::vector<Graph> graphs = moving_networks();
  for (std::uint64_t seed = 0; seed < 10; ++seed) graphs.push_back(random_graph(seed));
  for (const auto& graph : graphs) {
    const TemporaryDirectory cache;
    Job job(graph, {.device = "reference",
                    .cache_directory = cache.path(),
                    .links = Links{.offload_bytes_per_s = 1e5, .prefetch_bytes_per_s = 1e5}});
    const std::int64_t most = job.plan({.policy = "auto", .budget_bytes = INT64_MAX / 4}).peak_bytes;
    const std::int64_t least = least_budget_bytes(job, request("auto"));
    for (const int eighths : {1, 3, 5, 7}) {
      const Plan plan = job.plan({.policy = "auto", .budget_bytes = least + (most - least) * eighths / 8});
      again += static_cast<std::size_t>(
                   std::count_if(plan.steps.begin(), plan.steps.end(),
                                 [](const PlanStep& step) { return step.kind == StepKind::launch; })) -
               job.program().kernels.size();
      const auto run = train(
          job, plan,
          {.tier = std::make_shared<FaultyTier>(), .poison = true, .random_delay_seconds = kDelaySeconds});
      expect_same_training(run, train(job, unlimited_plan(job, plan.assignment), {}),
                           fmt::format("{}, {} eighths", graph.name(), eighths));
    }
  }
  EXPECT_GT(again, 50U);
}

// Half of what moves has no room in the nearest tier.
TEST(Executor, TrainsOverTwoTiersBitForBitUnderEveryPolicy) {
  std::int64_t far_bytes = 0;
  for (const auto& graph : moving_networks()) {
    const TemporaryDirectory cache;
    Job unlimited(graph, {.device = "reference", .cache_directory = cache.path(), .links = Links{}});
    const auto oracle = train(unlimited, unlimited.plan(request("oracle")), {});
    for (const auto& policy : policies()) {
      const std::int64_t near_bytes = tightest_plan(unlimited, request(policy.name)).tier_bytes / 2;
      PlanRequest capped = request(policy.name);
      capped.links.near_capacity_bytes = near_bytes;
      Job job(graph, {.device = "reference", .cache_directory = cache.path(), .links = capped.links});
      const Plan plan = tightest_plan(job, capped);
      EXPECT_LE(plan.tier_bytes, near_bytes);
      far_bytes += plan.far_tier_bytes;
      const auto run = train(job, plan,
                             {.tier = std::make_shared<FaultyTier>(),
                              .far_tier = std::make_shared<FaultyTier>(),
                              .poison = true,
                              .random_delay_seconds = kDelaySeconds});
      expect_same_training(run, oracle, fmt::format("{}, {}", graph.name(), policy.name));
    }
  }
  EXPECT_GT(far_bytes, 0);
}

TEST(Executor, RandomDelaysChangeNothing) {
  Job job(chain(), {.device = "reference"});
  const Plan plan = tightest_plan(job, request("vdnn-all"));
  // The seed of the delays is the run's, so these runs differ in their data too.
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    const auto oracle = train(job, job.plan(request("oracle")), {.seed = seed});
    const auto run = train(job, plan,
                           {.seed = seed,
                            .tier = std::make_shared<FaultyTier>(),
                            .poison = true,
                            .random_delay_seconds = kDelaySeconds});
    expect_same_training(run, oracle, fmt::format("seed {}", seed));
  }
}

TEST(Executor, CountsTheBytesThatThePlanMoves) {
  for (const auto& graph : moving_networks()) {
    Job job(graph, {.device = "reference"});
    for (const char* policy : {"vdnn-all", "vdnn-conv"}) {
      const Plan plan = tightest_plan(job, request(policy));
      const Simulation simulation = simulate(job.program(), plan, {});
      const auto run = train(job, plan, {.tier = std::make_shared<FaultyTier>()}, 3);
      EXPECT_GT(simulation.offloaded_bytes, 0);
      EXPECT_EQ(run.totals.offloaded_bytes, 3 * simulation.offloaded_bytes);
      EXPECT_EQ(run.totals.prefetched_bytes, 3 * simulation.prefetched_bytes);
    }
  }
}

TEST(Executor, TrainsOnADiskAsInMemory) {
  for (const auto& graph : moving_networks()) {
    Job job(graph, {.device = "reference"});
    const Plan plan = tightest_plan(job, request("vdnn-all"));
    const auto on_disk = train(job, plan, {.poison = true});
    expect_same_training(on_disk, train(job, plan, {.tier = std::make_shared<FaultyTier>()}), graph.name());
    EXPECT_NE(on_disk.totals.tier, "");
  }
}

// A failing transfer ends the run with its own error; reaching the end of the test is the rest of it.
void expect_error(Job& job, const Plan& plan, const FaultyTier::Faults& faults, const std::string& message,
                  double delay_seconds) {
  const SessionOptions options{
      .tier = std::make_shared<FaultyTier>(faults), .poison = true, .random_delay_seconds = delay_seconds};
  EXPECT_EQ(error_message<StorageError>([&] { train(job, plan, options); }), message);
}

TEST(Executor, AnyTransferMayFail) {
  for (const auto& graph : moving_networks()) {
    Job job(graph, {.device = "reference"});
    const Plan plan = tightest_plan(job, request("vdnn-all"));
    const auto tier = std::make_shared<FaultyTier>();
    train(job, plan, {.tier = tier});
    ASSERT_GE(tier->writes(), 4);
    ASSERT_EQ(tier->writes(), tier->reads());
    for (int n = 1; n <= tier->writes(); ++n) {
      expect_error(job, plan, {.write = n}, fmt::format("write {} fails", n), n % 2 == 0 ? kDelaySeconds : 0);
      expect_error(job, plan, {.read = n}, fmt::format("read {} fails", n), n % 2 == 1 ? kDelaySeconds : 0);
    }
  }
}

// Under `auto` weights are away between steps: the session's own writes and reads of them may fail as well.
TEST(Executor, AnyTransferMayFailWhereWeightsMove) {
  const TemporaryDirectory cache;
  Job job(weighty(), {.device = "reference", .cache_directory = cache.path(), .links = Links{}});
  const Plan plan = tightest_plan(job, request("auto"));
  EXPECT_LT(plan.peak_bytes, tightest_plan(job, request("vdnn-all")).peak_bytes);
  const auto tier = std::make_shared<FaultyTier>();
  train(job, plan, {.tier = tier});
  ASSERT_GE(tier->writes(), 4);
  for (int n = 1; n <= tier->writes(); ++n)
    expect_error(job, plan, {.write = n}, fmt::format("write {} fails", n), 0);
  for (int n = 1; n <= tier->reads(); ++n)
    expect_error(job, plan, {.read = n}, fmt::format("read {} fails", n), 0);
}

TEST(Executor, ASessionAfterAFailedOneTrainsAsIfNothingHadHappened) {
  Job job(chain(), {.device = "reference"});
  const Plan plan = tightest_plan(job, request("vdnn-all"));
  expect_error(job, plan, {.write = 2}, "write 2 fails", 0);
  expect_same_training(train(job, plan, {.tier = std::make_shared<FaultyTier>()}),
                       train(job, job.plan(request("oracle")), {}), "after an error");
}

TEST(Executor, RefusesAPlanThatMovesWithoutATier) {
  Job job(chain(), {.device = "reference"});
  const Plan plan = tightest_plan(job, request("vdnn-all"));
  const auto context =
      job.executable().open({.budget_bytes = plan.budget_bytes, .planned_bytes = plan.peak_bytes});
  EXPECT_EQ(error_message<UsageError>([&] { Executor(*context, job.program(), plan, {}, {}); }),
            fmt::format("the plan moves {} bytes, but there is no tier to move them to", plan.tier_bytes));
}

TEST(Executor, KnowsWhatIsKeptBetweenSteps) {
  Job job(chain(), {.device = "reference"});
  const Plan plan = tightest_plan(job, request("vdnn-conv"));
  const auto context =
      job.executable().open({.budget_bytes = plan.budget_bytes, .planned_bytes = plan.peak_bytes});
  FaultyTier tier;
  const Executor executor(*context, job.program(), plan, {.near = &tier}, {});
  int released = 0;
  for (std::size_t b = 0; b < job.program().buffers.size(); ++b) {
    const Buffer& buffer = job.program().buffers[b];
    if (buffer.persistent || buffer.result) {
      const auto offset = executor.place_between_steps(BufferId(b)).offset_bytes;
      EXPECT_GE(offset, 0);
      EXPECT_LE(offset + buffer.placed_bytes(), plan.peak_bytes) << buffer.name;
    } else if (buffer.role == Role::gradient_map) {
      EXPECT_THROW(static_cast<void>(executor.place_between_steps(BufferId(b))), UsageError) << buffer.name;
      ++released;
    }
  }
  EXPECT_GT(released, 4);
}

}  // namespace
}  // namespace vdnn::testing
