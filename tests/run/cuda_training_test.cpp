#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <span>

#include "base/counter_random.h"
#include "device/cuda/staged_lane.h"
#include "run/moving_networks.h"
#include "support/cuda/stand_in_device.h"
#include "support/faulty_tier.h"
#include "train/plan_runner.h"
#include "vdnn/error.h"

// Whole training steps over our own CUDA host code, with CUDA's calls on threads.
namespace vdnn::testing {
namespace {

constexpr double kDelaySeconds = 0.001;

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr std::size_t kMostNetworks = 2;  // ten times as slow
#else
constexpr std::size_t kMostNetworks = SIZE_MAX;
#endif

// Losses of some steps, and the weights after them.
using Trained = std::vector<float>;

std::vector<float> random_values(std::int64_t count, std::uint32_t stream) {
  const CounterRandom random(11, stream, 0);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = random.uniform(i) - 0.5F;
  return values;
}

class StandInTraining {
 public:
  StandInTraining(const Graph& graph, std::shared_ptr<StandInRuntime> runtime)
      : graph_(differentiate(graph, {})), executable_(StandInDevice(std::move(runtime)).lower(graph_, 1)) {}

  explicit StandInTraining(const Graph& graph)
      : graph_(differentiate(graph, {})), executable_(open_device("reference")->lower(graph_, 1)) {}

  [[nodiscard]] const Program& program() const { return executable_->program(); }

  // At its least budget.
  [[nodiscard]] Plan plan(const std::string& policy, std::int64_t near_bytes = INT64_MAX) const {
    PlanRequest request{.policy = policy, .budget_bytes = 1};
    request.links.near_capacity_bytes = near_bytes;
    const PlanResult tight = make_plan(program(), request);
    if (tight.plan) return *tight.plan;
    request.budget_bytes = tight.infeasible->least_budget_bytes;
    return make_plan(program(), request).plan.value();
  }

  Trained train(const Plan& plan, const PlanRunnerOptions& options, int steps = 2) {
    PlanRunner runner(*executable_, plan, options);
    std::uint32_t stream = 0;
    for (const auto& trained : graph_.parameters) {
      write(runner, trained.tensor, ++stream);
      for (const auto state : trained.optimizer_state) write(runner, state, ++stream);
    }
    runner.values().finish();
    Trained result;
    for (int step = 0; step < steps; ++step) {
      stage(runner, static_cast<std::uint32_t>(1000 + step));
      runner.context().measure(step % 2 == 0);
      runner.executor().begin_step({.seed = 3, .step = step, .learning_rate = 0.01});
      runner.context().wait_on_host(runner.executor().batch_taken());
      runner.executor().end_step();
      for (const auto loss : graph_.losses) read(runner, loss, result);
    }
    for (const auto& trained : graph_.parameters) read(runner, trained.tensor, result);
    runner.values().finish();
    EXPECT_EQ(runner.executor().executed_peak_bytes(), simulate(program(), plan, {}).peak_bytes) << "P4";
    totals_ = runner.context().times();
    description_ = runner.tiers_description();
    return result;
  }

  [[nodiscard]] const StreamTimes& times() const { return totals_; }
  [[nodiscard]] const std::string& tiers() const { return description_; }

 private:
  void write(PlanRunner& runner, TensorId tensor, std::uint32_t stream) {
    for (const auto& bound : executable_->tensor(tensor))
      runner.values().write(bound.buffer, 0, random_values(bound.count, stream));
  }
  void read(PlanRunner& runner, TensorId tensor, Trained& into) {
    for (const auto& bound : executable_->tensor(tensor)) {
      std::vector<float> values(static_cast<std::size_t>(bound.count));
      runner.values().read(bound.buffer, 0, values);
      into.insert(into.end(), values.begin(), values.end());
    }
  }
  void stage(PlanRunner& runner, std::uint32_t stream) {
    const auto images = executable_->tensor(graph_.staged_images).at(0);
    const auto labels = executable_->tensor(graph_.staged_labels).at(0);
    const auto offset = [&](BufferId buffer) {
      return runner.executor().place_between_steps(buffer).offset_bytes;
    };
    runner.context().write_values(images.buffer, offset(images.buffer), 0,
                                  random_values(images.count, stream));
    const std::vector<float> classes(static_cast<std::size_t>(labels.count), 1);
    runner.context().write_values(labels.buffer, offset(labels.buffer), 0, classes);
  }

  TrainingGraph graph_;
  std::unique_ptr<Executable> executable_;
  StreamTimes totals_;
  std::string description_;
};

TEST(CudaTraining, EveryPolicyTrainsBitForBitOverOneTierAndTwo) {
  const std::vector<Graph> graphs = moving_networks();
  for (const auto& graph : std::span(graphs).first(std::min(kMostNetworks, graphs.size()))) {
    StandInTraining reference(graph);
    const Trained expected = reference.train(reference.plan("oracle"), {});
    for (const auto& policy : policies()) {
      const std::int64_t moved = reference.plan(policy.name).tier_bytes;
      for (const std::int64_t near_bytes : {INT64_MAX, moved / 2, std::int64_t{0}}) {
        const auto runtime = std::make_shared<StandInRuntime>(kDelaySeconds, 7);
        {
          StandInTraining training(graph, runtime);
          const Trained trained =
              training.train(training.plan(policy.name, near_bytes),
                             {.far_tier = std::make_shared<FaultyTier>(), .poison = true});
          EXPECT_EQ(trained, expected)
              << graph.name() << ", " << policy.name << ", " << near_bytes << " near";
        }
        EXPECT_EQ(runtime->things_in_use(), 0U);
        EXPECT_FALSE(runtime->has_error_left());
        if (moved == 0) break;
      }
    }
  }
}

TEST(CudaTraining, WithoutPinnedMemoryItIsStagedAndSaysSo) {
  const auto runtime = std::make_shared<StandInRuntime>(kDelaySeconds);
  runtime->fail_all("cudaHostAlloc");
  const Graph graph = moving_networks().front();
  StandInTraining reference(graph);
  StandInTraining training(graph, runtime);
  const Plan plan = training.plan("vdnn-all");
  EXPECT_EQ(training.train(plan, {}), reference.train(reference.plan("oracle"), {}));
  EXPECT_THAT(training.tiers(), ::testing::StartsWith("host memory, warning: not pinned"));
  EXPECT_THAT(training.tiers(), ::testing::HasSubstr("ulimit -l"));
  EXPECT_FALSE(runtime->has_error_left());
}

TEST(CudaTraining, PinnedMemoryIsReachedDirectly) {
  const auto runtime = std::make_shared<StandInRuntime>();
  StandInTraining training(moving_networks().front(), runtime);
  training.train(training.plan("vdnn-all"), {});
  EXPECT_EQ(training.tiers(), "host memory, pinned");
}

TEST(CudaTraining, MeasuresKernelsAndCopiesOfBothTiers) {
  const Graph graph = moving_networks().front();
  const std::int64_t moved = StandInTraining(graph).plan("vdnn-all").tier_bytes;
  for (const std::int64_t near_bytes : {INT64_MAX, moved / 2, std::int64_t{0}}) {
    StandInTraining training(graph, std::make_shared<StandInRuntime>(kDelaySeconds));
    training.train(training.plan("vdnn-all", near_bytes), {.far_tier = std::make_shared<FaultyTier>()});
    EXPECT_GT(training.times().kernel_seconds, 0);
    EXPECT_GT(training.times().offload_seconds, 0);
    EXPECT_GT(training.times().prefetch_seconds, 0);
  }
}

// Pieces of a copy larger than all slots together, short last piece included.
TEST(CudaTraining, CopiesOfManyPiecesArriveWhole) {
  const std::int64_t bytes =
      (2 * static_cast<std::int64_t>(cuda::StagedLane::kSlots) + 1) * cuda::StagedLane::kSlotBytes + 4096;
  const TrainingGraph graph = differentiate(moving_networks().front(), {});
  const auto executable = StandInDevice(std::make_shared<StandInRuntime>(kDelaySeconds)).lower(graph, 1);
  const auto context = executable->open({.budget_bytes = bytes, .planned_bytes = bytes});
  std::vector<std::byte> values(static_cast<std::size_t>(bytes));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::byte>(i / 4096 + i % 251);
  context->write_bytes(0, values);
  FaultyTier tier;
  tier.reserve(2 * bytes);
  context->bind(StreamKind::far_offload, tier);
  context->bind(StreamKind::far_prefetch, tier);
  context->copy(StreamKind::far_offload, 0, bytes, bytes);
  context->record(EventId(0), StreamKind::far_offload);
  context->wait(StreamKind::compute, EventId(0));
  context->poison(0, bytes);
  context->record(EventId(1), StreamKind::compute);
  context->wait(StreamKind::far_prefetch, EventId(1));
  context->wait(StreamKind::far_prefetch, EventId(0));
  context->copy(StreamKind::far_prefetch, 0, bytes, bytes);
  context->synchronize();
  std::vector<std::byte> back(values.size());
  context->read_bytes(0, back);
  EXPECT_EQ(back, values);
}

// Calls of every function fail: the error names it, or nothing was lost by it; nobody hangs, nothing stays
// behind.
class CudaFaults : public ::testing::Test {
 protected:
  // The message of what the run threw; empty where it went through.
  std::string run(const std::string& function, std::int64_t n) {
    SCOPED_TRACE(fmt::format("call {} of {}", n, function));
    const auto runtime = std::make_shared<StandInRuntime>(0.0001);
    std::string message;
    {
      StandInTraining training(graph_, runtime);
      const Plan plan = training.plan("vdnn-all", near_bytes_);
      runtime->fail_call(function, n);
      try {
        EXPECT_EQ(training.train(plan, {.far_tier = std::make_shared<FaultyTier>()}), expected_);
      } catch (const Error& error) {
        message = error.what();
      }
      calls_ = runtime->calls();
    }
    EXPECT_EQ(runtime->things_in_use(), 0U);
    EXPECT_FALSE(runtime->has_error_left());
    return message;
  }

  // The first ones and the last, which are made at other moments than most, and some between.
  static std::set<std::int64_t> some_of(std::int64_t calls) {
    std::set<std::int64_t> some;
    for (const auto n :
         {std::int64_t{1}, std::int64_t{2}, calls / 4, calls / 2, 2 * calls / 3, calls - 1, calls}) {
      if (n >= 1 && n <= calls) some.insert(n);
    }
    return some;
  }

  void fail_calls_of_every_function() {
    EXPECT_EQ(run("", 0), "");
    std::set<std::string> named;
    for (const auto& [function, calls] : std::map(calls_)) {
      for (const auto n : some_of(calls)) {
        const std::string message = run(function, n);
        if (message.empty()) continue;
        EXPECT_THAT(message, ::testing::HasSubstr("made to fail"));
        EXPECT_THAT(message, ::testing::HasSubstr(function));
        named.insert(function);
      }
    }
    for (const char* function :
         {"cudaMalloc", "cudaStreamCreateWithFlags", "cudaEventCreateWithFlags", "cudaEventRecord",
          "cudaStreamWaitEvent", "cudaMemcpyAsync", "cudaLaunchKernel", "cudaStreamSynchronize"})
      EXPECT_THAT(named, ::testing::Contains(function));
  }

  Graph graph_ = moving_networks().front();
  Trained expected_ = [this] {
    StandInTraining reference(graph_);
    return reference.train(reference.plan("oracle"), {});
  }();
  std::int64_t near_bytes_ = INT64_MAX;
  std::map<std::string, std::int64_t> calls_;
};

TEST_F(CudaFaults, OverPinnedMemory) {
  fail_calls_of_every_function();
}

TEST_F(CudaFaults, OverTheFarTier) {
  near_bytes_ = 0;
  fail_calls_of_every_function();
}

}  // namespace
}  // namespace vdnn::testing
