#include "device/profile/machine_profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "plan/lowered.h"
#include "support/error_message.h"
#include "support/file_bytes.h"
#include "support/temporary_directory.h"
#include "vdnn/error.h"
#include "vdnn/session.h"
#include "vdnn/zoo.h"

namespace vdnn::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

json example() {
  return {
      {"vdnn_profile", 1},
      {"name", "example"},
      {"summary", "a machine for tests"},
      {"sources", {"nowhere"}},
      {"memory_bytes", 1e9},
      {"flops_per_s", 1e12},
      {"memory_bytes_per_s", 1e11},
      {"memory_efficiency", 0.5},
      {"matrix_efficiency", 0.5},
      {"launch_seconds", 1e-5},
      {"links",
       {{"offload_bytes_per_s", 1e10},
        {"prefetch_bytes_per_s", 2e10},
        {"offload_slowdown", 1.25},
        {"prefetch_slowdown", 1},
        {"duplex_share", 0.75}}},
      {"convolution_algorithms",
       {{{"family", "implicit_gemm"}, {"efficiency", 0.25}}, {{"family", "winograd"}, {"efficiency", 0.5}}}}};
}

Graph network() {
  GraphBuilder b("network", {4, 8, 32, 32});
  const TensorId x = b.convolution("conv", b.input(), {.channels = 16, .kernel = {3, 3}, .padding = {1, 1}});
  b.softmax_cross_entropy("loss", b.fully_connected("fc", x, {.features = 10}));
  return std::move(b).build();
}

class ProfileDeviceTest : public ::testing::Test {
 protected:
  std::string write(const json& profile) {
    std::string path = directory_.path() + "/profile.json";
    write_file(path, profile.dump());
    return path;
  }
  Program program_on(const json& profile) {
    return open_device("profile:" + write(profile))->lower(differentiate(network(), {}), 1)->program();
  }

  TemporaryDirectory directory_;
};

const Kernel& kernel(const Program& program, const std::string& name, Phase phase) {
  return *std::find_if(program.kernels.begin(), program.kernels.end(),
                       [&](const Kernel& one) { return one.name == name && one.phase == phase; });
}

TEST(MachineProfiles, ThoseOfVdnnAreReadAndNamedAsTheirFiles) {
  EXPECT_THAT(profile_names(), ::testing::Contains("titan-x"));
  EXPECT_GE(profile_names().size(), 4U);
  for (const auto& name : profile_names()) {
    const MachineProfile profile = find_profile(name);
    EXPECT_EQ(profile.name, name);
    EXPECT_FALSE(profile.sources.empty()) << name;
  }
}

TEST(MachineProfiles, TheTitanXIsThePapers) {
  const MachineProfile titan = find_profile("titan-x");
  EXPECT_EQ(titan.memory_bytes, std::int64_t{12} << 30);
  EXPECT_EQ(titan.flops_per_s, 7e12);
  EXPECT_EQ(titan.memory_bytes_per_s, 336e9);
  EXPECT_EQ(titan.links.offload_bytes_per_s, 12.8e9);
  EXPECT_EQ(titan.convolution_algorithms.size(), 6U);
}

TEST_F(ProfileDeviceTest, KernelsTakeTheLongerOfOperationsAndBytes) {
  const Program program = program_on(example());
  const auto& convolution = kernel(program, "conv", Phase::forward);
  ASSERT_EQ(convolution.candidates.size(), 2U);
  EXPECT_EQ(convolution.candidates[0].workspace_bytes, 0);
  const double flops = 2.0 * 4 * 16 * 1024 * 72;
  EXPECT_DOUBLE_EQ(convolution.candidates[0].seconds, 1e-5 + flops / (1e12 * 0.25));
  // The input's batch is taken over: 4 x 8 x 32 x 32 values in and out.
  const auto load = std::find_if(program.kernels.begin(), program.kernels.end(),
                                 [](const Kernel& one) { return one.phase == Phase::load; });
  EXPECT_NEAR(load->candidates[0].seconds, 1e-5 + 2.0 * 4 * (4 * 8 * 1024) / (1e11 * 0.5), 1e-8);
}

TEST_F(ProfileDeviceTest, BuffersHaveTheirFloat32Bytes) {
  const Program program = program_on(example());
  const auto weight = std::find_if(program.buffers.begin(), program.buffers.end(),
                                   [](const Buffer& buffer) { return buffer.name == "fc.weight"; });
  EXPECT_EQ(weight->bytes, 10 * 16 * 1024 * 4);
}

TEST_F(ProfileDeviceTest, PlansAndPredictsButRunsNothing) {
  Job job(network(), {.device = "profile:" + write(example())});
  EXPECT_EQ(job.device().free_bytes, 1'000'000'000);
  EXPECT_EQ(job.links().duplex_share, 0.75);
  EXPECT_EQ(job.links().offload_slowdown, 1.25);
  const Plan plan = job.plan({.policy = "vdnn-dyn", .budget_bytes = 100'000'000});
  EXPECT_GT(simulate(job.program(), plan, job.links()).step_seconds, 0);
  EXPECT_THAT(
      error_message<UnsupportedError>([&] { Session(job, plan, open_dataset("synthetic:8", 10, 1), {}); }),
      HasSubstr("runs nothing"));
}

TEST_F(ProfileDeviceTest, RefusesWhatIsNoProfile) {
  const auto refused = [&](const char* pointer, const json& value, const char* says) {
    json profile = example();
    profile[json::json_pointer(pointer)] = value;
    EXPECT_THAT(error_message<ModelError>([&] { find_profile(write(profile)); }), HasSubstr(says)) << pointer;
  };
  refused("/vdnn_profile", 2, "format 2");
  refused("/flops_per_s", 0, "flops_per_s");
  refused("/memory_bytes", -1, "memory_bytes");
  refused("/memory_efficiency", 1.5, "memory_efficiency");
  refused("/links/offload_slowdown", 0.5, "slowdown");
  refused("/links", 3, "profile ");
  refused("/convolution_algorithms/1/family", "winogrand", "winograd");
  refused("/convolution_algorithms/0/family", "winograd", "implicit_gemm");
  refused("/convolution_algorithms", json::array(), "implicit_gemm");
  json profile = example();
  profile.erase("launch_seconds");
  EXPECT_THAT(error_message<ModelError>([&] { find_profile(write(profile)); }), HasSubstr("launch_seconds"));
  write_file(directory_.path() + "/broken.json", "{");
  EXPECT_THROW(find_profile(directory_.path() + "/broken.json"), ModelError);
  EXPECT_THROW(find_profile(directory_.path() + "/missing.json"), StorageError);
  EXPECT_THAT(error_message<UsageError>([] { find_profile("titan-y"); }), HasSubstr("titan-x"));
}

// The paper: VGG-16 with 256 images needs far more than the 12 GB of its card, and trains on it.
TEST(MachineProfiles, Vgg16OfThePaperFitsItsCardUnderVdnnDynOnly) {
  const std::int64_t memory = std::int64_t{12} << 30;
  Job job(make_model("vgg-16", {.batch = 256}), {.device = "profile:titan-x", .optimizer = {.momentum = 0}});
  EXPECT_THROW(job.plan({.policy = "baseline", .budget_bytes = memory}), BudgetError);
  const Plan plan = job.plan({.policy = "vdnn-dyn", .budget_bytes = memory});
  EXPECT_LE(plan.peak_bytes, memory);
  EXPECT_EQ(plan.passes.back().name, "vdnn-conv (p)");
}

}  // namespace
}  // namespace vdnn::testing
