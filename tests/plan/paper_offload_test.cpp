#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "plan/lowered.h"
#include "vdnn/zoo.h"

// What the paper's policies move in the paper's networks, against figures that were computed independently of
// this code: fp32, no saved state.
namespace vdnn::testing {
namespace {

// Lowered without memory: only the plan is made.
double offloaded_gigabytes(const Program& program, const Plan& plan) {
  std::int64_t bytes = 0;
  for (const auto& step : plan.steps) {
    if (step.kind == StepKind::offload && !program.buffer(step.buffer).saved_state) {
      bytes += program.buffer(step.buffer).bytes / 2;  // the reference device's values have eight bytes
    }
  }
  return static_cast<double>(bytes) * 1e-9;
}

// A hundredth. Rounding of the figure makes more of the small ones; GoogLeNet's leaves out the input of its
// global average pool (0.026 GB), which the last inception module's in-place activation reads backward.
double tolerance(double gigabytes) {
  return std::max(0.011 * gigabytes, 0.005);
}

struct Row {
  const char* network;
  std::int64_t batch;
  double all_gigabytes;
  double conv_gigabytes;
};

class OffloadTable : public ::testing::TestWithParam<Row> {};

TEST_P(OffloadTable, TheOffloadedBytesAreThoseOfTheTable) {
  const auto& row = GetParam();
  const Program program = lowered(make_model(row.network, {.batch = row.batch}));
  for (const auto& [policy, expected] :
       {std::pair{"vdnn-all", row.all_gigabytes}, {"vdnn-conv", row.conv_gigabytes}}) {
    const double gigabytes = offloaded_gigabytes(program, planned(program, policy));
    fmt::print("{}({}) {}: {:.4f} GB, expected {:.2f}\n", row.network, row.batch, policy, gigabytes,
               expected);
    EXPECT_NEAR(gigabytes, expected, tolerance(expected)) << policy;
  }
}

INSTANTIATE_TEST_SUITE_P(Networks, OffloadTable,
                         ::testing::Values(Row{"alexnet", 128, 0.37, 0.17}, Row{"overfeat", 128, 0.56, 0.25},
                                           Row{"googlenet-plain", 128, 2.43, 1.43},
                                           Row{"vgg-16", 64, 3.89, 2.32}, Row{"vgg-16", 128, 7.78, 4.65},
                                           Row{"vgg-16", 256, 15.57, 9.30}, Row{"vgg-116", 32, 17.62, 16.83},
                                           Row{"vgg-216", 32, 33.29, 32.50}, Row{"vgg-316", 32, 48.96, 48.18},
                                           Row{"vgg-416", 32, 64.63, 63.85}));

TEST(PaperNetworks, EveryPlanOfEveryNetworkIsVerified) {
  for (const auto& model : models()) {
    const Program program = lowered(make_model(model.name, {.batch = 32}));
    for (const auto& policy : policies()) {
      EXPECT_THAT(verify_plan(program, planned(program, policy.name)), ::testing::IsEmpty())
          << model.name << policy.name;
    }
  }
}

// Of the memory that a plan needs, how much is the packers' loss: P6's ratio against the live peak.
TEST(PaperNetworks, ThePeakIsAtMostATenthAboveTheLivePeak) {
  for (const auto& model : models()) {
    const Program program = lowered(make_model(model.name, {.batch = 32}));
    for (const auto* policy : {"vdnn-all", "vdnn-conv"}) {
      const Simulation simulation = simulate(program, planned(program, policy), {});
      const double ratio =
          static_cast<double>(simulation.peak_bytes) / static_cast<double>(simulation.peak_live_bytes);
      fmt::print("{} {}: peak {:.4f} of the live peak\n", model.name, policy, ratio);
      EXPECT_LE(ratio, 1.1) << model.name << ' ' << policy;
    }
  }
}

TEST(PaperNetworks, PlanningVgg416) {
  const Program program = lowered(make_model("vgg-416", {.batch = 32}));
  const auto begin = std::chrono::steady_clock::now();
  const Plan plan = planned(program, "vdnn-all");
  const auto made = std::chrono::steady_clock::now();
  EXPECT_THAT(verify_plan(program, plan), ::testing::IsEmpty());
  const auto verified = std::chrono::steady_clock::now();
  const auto seconds = [](auto from, auto to) { return std::chrono::duration<double>(to - from).count(); };
  fmt::print("vgg-416 vdnn-all: {} kernels, {} steps, planned in {:.3f} s, verified in {:.3f} s\n",
             program.kernels.size(), plan.steps.size(), seconds(begin, made), seconds(made, verified));
}

}  // namespace
}  // namespace vdnn::testing
