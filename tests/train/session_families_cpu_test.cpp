#include <gtest/gtest.h>

#include <ostream>

#include "support/temporary_directory.h"
#include "support/training_run.h"
#include "vdnn/bytes.h"
#include "vdnn/zoo.h"

namespace vdnn::testing {
namespace {

// Each session of these networks spends seconds on its initial weights, so that not every policy is paired
// with all kernels here; tests/run does that.

// A network of the zoo on the smallest images that it takes.
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

class FamilyOnCpu : public ::testing::TestWithParam<Family> {
 protected:
  FamilyOnCpu()
      : job_(make_model(GetParam().name,
                        {.batch = GetParam().batch, .image = GetParam().image, .classes = 10}),
             {.device = "cpu", .threads = 2, .cache_directory = cache_.path(), .links = Links{}}) {}

  void expect_policies_change_nothing(Algorithms algorithms, std::initializer_list<const char*> policies) {
    const auto oracle = train(job_, job_.plan({.policy = "oracle", .algorithms = algorithms}), kOptions);
    for (const char* policy : policies) {
      SCOPED_TRACE(policy);
      const Plan plan = tightest_plan(job_, {.policy = policy, .algorithms = algorithms});
      const auto run = train(job_, plan, kOptions);
      EXPECT_EQ(run.losses, oracle.losses);
      EXPECT_EQ(run.digest, oracle.digest);
      EXPECT_EQ(run.totals.peak_bytes, round_up(plan.peak_bytes, 4096));
      EXPECT_EQ(run.totals.executed_peak_bytes, simulate(job_.program(), plan, {}).peak_bytes);
    }
  }

  static inline const SessionOptions kOptions{.seed = 2, .learning_rate = 0.001, .poison = true};

  TemporaryDirectory cache_;
  Job job_;
};

TEST_P(FamilyOnCpu, TrainsBitForBitWithTheLeanestKernels) {
  expect_policies_change_nothing(Algorithms::memory, {"baseline", "vdnn-all"});
}

TEST_P(FamilyOnCpu, TrainsBitForBitWithTheFastestKernels) {
  expect_policies_change_nothing(Algorithms::performance, {"vdnn-conv", "vdnn-all"});
}

// Weights and momentum leave, too, and are away between steps.
TEST_P(FamilyOnCpu, TrainsBitForBitInTheLeastMemoryThatAutoFinds) {
  PlanRequest request{.policy = "auto"};
  request.budget_bytes = std::int64_t{1} << 40;
  static_cast<void>(job_.plan(request));  // measures
  const Plan plan = tightest_plan(job_, request);
  const auto oracle = train(job_, unlimited_plan(job_, plan.assignment), kOptions);
  const auto run = train(job_, plan, kOptions);
  EXPECT_EQ(run.losses, oracle.losses);
  EXPECT_EQ(run.digest, oracle.digest);
  EXPECT_EQ(run.totals.peak_bytes, round_up(plan.peak_bytes, 4096));
  EXPECT_LT(plan.peak_bytes,
            least_budget_bytes(job_, {.policy = "vdnn-all", .algorithms = Algorithms::memory}));
}

TEST_P(FamilyOnCpu, NeedsLessMemoryTheMoreItMoves) {
  const auto least = [&](const char* policy) { return least_budget_bytes(job_, {.policy = policy}); };
  EXPECT_LT(least("vdnn-conv"), least("baseline"));
  EXPECT_LE(least("vdnn-all"), least("vdnn-conv"));
}

INSTANTIATE_TEST_SUITE_P(Zoo, FamilyOnCpu,
                         ::testing::Values(Family{"alexnet", 4, 64}, Family{"overfeat", 2, 71},
                                           Family{"googlenet", 2, 96}, Family{"vgg-16", 2, 32},
                                           Family{"resnet-50", 2, 64}),
                         family_name);

}  // namespace
}  // namespace vdnn::testing
