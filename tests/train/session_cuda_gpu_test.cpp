#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <ostream>

#include "support/gpu.h"
#include "support/temporary_directory.h"
#include "support/training_run.h"
#include "vdnn/zoo.h"

namespace vdnn::testing {
namespace {

// A network of the zoo on small images.
struct Family {
  const char* name;
  std::int64_t batch;
  std::int64_t image;

  friend std::ostream& operator<<(std::ostream& out, const Family& family) { return out << family.name; }
};

std::string family_name(const ::testing::TestParamInfo<Family>& info) {
  std::string name = info.param.name;
  std::erase(name, '-');
  return name;
}

// Lowered once for all tests, and the unlimited run with given kernels trained once: cuDNN takes its time to
// make plans, and every session to draw its initial weights.
struct Prepared {
  explicit Prepared(const Graph& graph)
      : job(graph, {.device = "cuda", .cache_directory = directory.path(), .links = Links{}}) {
    job.measure_all_kernels();
  }

  TemporaryDirectory directory;
  Job job;
  std::map<std::vector<int>, TrainingRun> oracles;
};

class FamilyOnGpu : public ::testing::TestWithParam<Family> {
 protected:
  static void TearDownTestSuite() { prepared().clear(); }

  static Graph graph() {
    return make_model(GetParam().name, {.batch = GetParam().batch, .image = GetParam().image, .classes = 10});
  }
  [[nodiscard]] Job& job() const { return prepared_.job; }

  [[nodiscard]] SessionOptions session(bool poison) const {
    return {
        .seed = 2, .learning_rate = 0.001, .spill_directory = prepared_.directory.path(), .poison = poison};
  }

  // Every policy with its fastest kernels, and the one that moves most with its leanest.
  static std::vector<PlanRequest> requests() {
    std::vector<PlanRequest> all = {{.policy = "vdnn-all", .algorithms = Algorithms::memory}};
    for (const auto& policy : policies())
      all.push_back({.policy = policy.name, .algorithms = Algorithms::performance});
    return all;
  }

  // In its least memory, with so much host memory below it.
  [[nodiscard]] Plan plan(PlanRequest request, std::int64_t host_memory_bytes = INT64_MAX) const {
    request.budget_bytes = 1;
    request.links = {
        .offload_bytes_per_s = 2e10, .prefetch_bytes_per_s = 2e10, .near_capacity_bytes = host_memory_bytes};
    const PlanResult tight = make_plan(job().program(), request);
    if (tight.plan) return *tight.plan;  // of a policy that takes what it needs
    request.budget_bytes = tight.infeasible->least_budget_bytes;
    return make_plan(job().program(), request).plan.value();
  }

  const TrainingRun& oracle(const std::vector<int>& assignment) {
    auto [known, fresh] = prepared_.oracles.try_emplace(assignment);
    if (fresh) known->second = train(job(), unlimited_plan(job(), assignment), session(false));
    return known->second;
  }

  TrainingRun expect_bits_of_oracle(const Plan& plan) {
    const auto& expected = oracle(plan.assignment);
    auto run = train(job(), plan, session(true));
    EXPECT_EQ(run.losses, expected.losses);
    EXPECT_EQ(run.digest, expected.digest);
    for (const double loss : run.losses) EXPECT_TRUE(std::isfinite(loss));
    EXPECT_EQ(run.totals.executed_peak_bytes, simulate(job().program(), plan, {}).peak_bytes) << "P4";
    EXPECT_EQ(run.totals.peak_bytes, plan.peak_bytes);
    return run;
  }

 private:
  static std::map<std::string, std::unique_ptr<Prepared>>& prepared() {
    static std::map<std::string, std::unique_ptr<Prepared>> all;
    return all;
  }
  static Prepared& prepare() {
    auto& known = prepared()[GetParam().name];
    if (!known) known = std::make_unique<Prepared>(graph());
    return *known;
  }

  Prepared& prepared_ = prepare();
};

TEST_P(FamilyOnGpu, EveryPolicyTrainsBitForBitInItsLeastMemory) {
  for (const auto& request : requests()) {
    SCOPED_TRACE(request.policy + " " + std::string(algorithms_name(request.algorithms)));
    const Plan least = plan(request);
    const auto run = expect_bits_of_oracle(least);
    EXPECT_EQ(run.totals.tier, least.tier_bytes > 0 ? "host memory, pinned" : "");
    EXPECT_EQ(least.far_tier_bytes, 0);
  }
}

// What does not fit in host memory goes on to the disk.
TEST_P(FamilyOnGpu, EveryPolicyTrainsBitForBitOverThreeTiers) {
  for (const auto& request : requests()) {
    SCOPED_TRACE(request.policy + " " + std::string(algorithms_name(request.algorithms)));
    const std::int64_t host_memory_bytes = plan(request).tier_bytes / 2;
    if (host_memory_bytes == 0) continue;
    const Plan capped = plan(request, host_memory_bytes);
    EXPECT_LE(capped.tier_bytes, host_memory_bytes);
    EXPECT_GT(capped.far_tier_bytes, 0);
    const auto run = expect_bits_of_oracle(capped);
    EXPECT_THAT(run.totals.tier, ::testing::HasSubstr("disk"));
  }
}

TEST_P(FamilyOnGpu, TrainsBitForBitOverTheDiskAlone) {
  const Plan on_disk = plan({.policy = "vdnn-all", .algorithms = Algorithms::performance}, 0);
  EXPECT_EQ(on_disk.tier_bytes, 0);
  EXPECT_GT(on_disk.far_tier_bytes, 0);
  expect_bits_of_oracle(on_disk);
}

TEST_P(FamilyOnGpu, MeasuringChangesNoBits) {
  const Plan least = plan({.policy = "vdnn-all", .algorithms = Algorithms::performance});
  SessionOptions unmeasured = session(false);
  unmeasured.measures_every_step = false;
  EXPECT_EQ(train(job(), least, unmeasured).digest, oracle(least.assignment).digest);
}

using Values = std::vector<std::vector<float>>;

struct Learned {
  std::vector<double> losses;
  Values initial;
  Values first;  // after one step
  Values last;   // after five
};

Learned five_steps(Job& job) {
  Session session(job, job.plan({.policy = "oracle"}), synthetic_data(job.graph()),
                  {.seed = 2, .learning_rate = 1e-4});
  Learned learned;
  learned.initial = weights(session);
  for (int step = 0; step < 5; ++step) {
    learned.losses.push_back(session.step().loss);
    if (step == 0) learned.first = weights(session);
  }
  learned.last = weights(session);
  return learned;
}

// The length of to - from, all tensors together.
double distance(const Values& from, const Values& to) {
  double squares = 0;
  for (std::size_t t = 0; t < to.size(); ++t) {
    for (std::size_t i = 0; i < to[t].size(); ++i) {
      const double difference = static_cast<double>(to[t][i]) - static_cast<double>(from[t][i]);
      squares += difference * difference;
    }
  }
  return std::sqrt(squares);
}

double length(const Values& values) {
  double squares = 0;
  for (const auto& tensor : values) {
    for (const double value : tensor) squares += value * value;
  }
  return std::sqrt(squares);
}

// Tensors one by one are compared kernel by kernel (zoo_kernels_gpu_test): over steps, a rounding that
// decides otherwise at a kink moves small ones, such as biases, by more than this on any two devices, the CPU
// and plain loops in double precision among them.
TEST_P(FamilyOnGpu, LearnsWhatTheCpuLearns) {
  constexpr double kTolerance = 1e-4;
  Job cpu(graph(), {.device = "cpu", .links = Links{}});
  const Learned expected = five_steps(cpu);
  const Learned got = five_steps(job());
  for (std::size_t step = 0; step < expected.losses.size(); ++step)
    EXPECT_NEAR(got.losses[step], expected.losses[step], kTolerance * std::abs(expected.losses[step]));
  ASSERT_EQ(got.initial, expected.initial);
  EXPECT_LE(distance(expected.first, got.first), kTolerance * distance(expected.initial, expected.first));
  EXPECT_LE(distance(expected.last, got.last), kTolerance * length(expected.last));
}

INSTANTIATE_TEST_SUITE_P(Zoo, FamilyOnGpu,
                         ::testing::Values(Family{"alexnet", 4, 64}, Family{"overfeat", 2, 71},
                                           Family{"googlenet", 2, 96}, Family{"vgg-16", 2, 32},
                                           Family{"resnet-50", 4, 128}),
                         family_name);

}  // namespace
}  // namespace vdnn::testing
