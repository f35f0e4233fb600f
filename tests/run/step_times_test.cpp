#include "run/step_times.h"

#include <gtest/gtest.h>

#include "plan/three_kernels.h"
#include "support/temporary_directory.h"

namespace vdnn::testing {
namespace {

constexpr const char* kMachine = "machine";

class StepTimesFile : public ::testing::Test {
 protected:
  StepTimesFile() {
    for (std::size_t k = 0; k < program_.kernels.size(); ++k)
      program_.kernels[k].signature = "kernel" + std::to_string(k);
    program_.kernels[1].candidates[1].algorithm = "fast";
    plan_.assignment = {0, 1, 0};
    plan_.steps = {{.kernel = KernelId(0)}, {.kernel = KernelId(1)}, {.kernel = KernelId(2)}};
  }

  [[nodiscard]] double seconds(std::size_t kernel, std::size_t candidate = 0,
                               const std::string& machine = kMachine) const {
    return with_step_times(program_, machine, directory_.path())
        .kernels[kernel]
        .candidates[candidate]
        .seconds;
  }
  void keep(const std::vector<StepTimes>& steps) const {
    keep_step_times(program_, plan_, steps, kMachine, directory_.path());
  }

  Program program_ = three_kernels();
  Plan plan_;
  TemporaryDirectory directory_;
};

// Three training steps in which the kernels take different times.
std::vector<StepTimes> three_steps() {
  return {{{0, 2'000'000}, {2'000'000, 6'000'000}, {6'000'000, 14'000'000}},
          {{0, 9'000'000}, {9'000'000, 13'000'000}, {13'000'000, 20'000'000}},
          {{0, 3'000'000}, {3'000'000, 8'000'000}, {8'000'000, 9'000'000}}};
}

TEST_F(StepTimesFile, KeepsTheMedianOverTheSteps) {
  keep(three_steps());
  EXPECT_DOUBLE_EQ(seconds(0), 3e-3);
  EXPECT_DOUBLE_EQ(seconds(1, 1), 4e-3);
  EXPECT_DOUBLE_EQ(seconds(2), 7e-3);
}

TEST_F(StepTimesFile, WithoutKeptTimesNothingChanges) {
  EXPECT_EQ(seconds(0), 1e-3);
  keep(three_steps());
  EXPECT_EQ(seconds(0, 0, "another machine"), 1e-3);
}

// Alone the known ones take 1, 2 and 4 ms, in steps 3, 4 and 7.
TEST_F(StepTimesFile, ACandidateThatDidNotRunIsLongerByWhatIsTypical) {
  keep(three_steps());
  EXPECT_DOUBLE_EQ(seconds(1, 0), 14.0 / 7 * 9e-3);
}

// Here two of three, 5 of 7 ms, ran with no copy beside them.
TEST_F(StepTimesFile, KernelsBesideACopyDoNotCount) {
  plan_.steps.insert(plan_.steps.begin() + 1, {.kind = StepKind::offload, .buffer = kMap});
  keep({{{0, 2'000'000}, {2'500'000, 7'000'000}, {2'000'000, 6'000'000}, {7'000'000, 15'000'000}}});
  EXPECT_DOUBLE_EQ(seconds(0), 2e-3);
  EXPECT_DOUBLE_EQ(seconds(2), 8e-3);
  EXPECT_DOUBLE_EQ(seconds(1, 1), 2 * 2e-3);  // as is typical, not the 4 ms beside the copy
}

TEST_F(StepTimesFile, AFewKernelsSayNothingOfTheOthers) {
  program_.kernels[0].candidates[0].seconds = 1e-6;
  keep(three_steps());
  for (auto& kernel : program_.kernels) kernel.signature += " of another size";
  program_.kernels[0].signature = "kernel0";
  EXPECT_DOUBLE_EQ(seconds(0), 3e-3);
  EXPECT_DOUBLE_EQ(seconds(2), 4e-3);
}

TEST_F(StepTimesFile, WithoutADirectoryNothingIsKept) {
  keep_step_times(program_, plan_, three_steps(), kMachine, "");
  EXPECT_EQ(with_step_times(program_, kMachine, "").kernels[0].candidates[0].seconds, 1e-3);
}

}  // namespace
}  // namespace vdnn::testing
