#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "support/gpu.h"
#include "support/vdnn_process.h"

// The commands on a GPU.
namespace vdnn::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class CudaCommands : public ::testing::Test {
 protected:
  Finished run(const std::string& command, const std::vector<std::string>& more) {
    std::vector<std::string> all = {command,   "alexnet", "--device",  "cuda", "--image", "64",
                                    "--batch", "4",       "--classes", "10",   "--cache", cache_->path()};
    if (command != "plan") all.insert(all.end(), {"--data", "synthetic:40", "--steps", "2"});
    all.insert(all.end(), more.begin(), more.end());
    return vdnn(all);
  }
  nlohmann::json json(const std::string& command, std::vector<std::string> more) {
    const std::string file = cache_->path() + "/out.json";
    more.insert(more.end(), {"--json", file});
    const Finished done = run(command, more);
    EXPECT_EQ(done.status, 0) << done.err;
    return nlohmann::json::parse(read_file(file));
  }
  // Of the policy, as `plan` says it for a budget that nothing fits.
  std::string least(const std::string& policy) {
    const std::string file = cache_->path() + "/least.json";
    EXPECT_EQ(run("plan", {"--policy", policy, "--memory", "1MiB", "--json", file}).status, 3);
    return std::to_string(
        nlohmann::json::parse(read_file(file)).at("least_budget_bytes").get<std::int64_t>());
  }

  // Kernels are measured once.
  static void SetUpTestSuite() { cache_ = std::make_unique<TemporaryDirectory>(); }
  static void TearDownTestSuite() { cache_.reset(); }

  static inline std::unique_ptr<TemporaryDirectory> cache_;
};

TEST_F(CudaCommands, DevicesSaysWhatTheGpuIs) {
  const auto rows = nlohmann::json::parse(vdnn({"devices", "--json", "-"}).out);
  const auto cuda = std::ranges::find(rows, "cuda", [](const auto& row) { return row.at("name"); });
  ASSERT_NE(cuda, rows.end());
  EXPECT_TRUE(cuda->at("available"));
  EXPECT_GT(cuda->at("free_bytes"), 0);
  EXPECT_THAT(cuda->at("summary").template get<std::string>(), HasSubstr("cuDNN"));
}

TEST_F(CudaCommands, VerifyIsBitEqualInTheLeastMemoryAndOverTheDisk) {
  const auto in_host = json("verify", {"--policy", "vdnn-all", "--memory", least("vdnn-all"), "--poison"});
  EXPECT_TRUE(in_host.at("equal"));
  const auto on_disk = json("verify", {"--policy", "auto", "--memory", least("auto"), "--host-memory", "1MiB",
                                       "--spill", cache_->path(), "--poison"});
  EXPECT_TRUE(on_disk.at("equal"));
}

TEST_F(CudaCommands, TrainSaysWhichTiersItUsed) {
  const Finished done = run("train", {"--policy", "vdnn-all", "--memory", least("vdnn-all"), "--host-memory",
                                      "512KiB", "--spill", cache_->path()});
  EXPECT_EQ(done.status, 0) << done.err;
  EXPECT_THAT(done.out + done.err, HasSubstr("disk"));
}

TEST_F(CudaCommands, OtherPrecisionsTrainToo) {
  for (const char* option : {"--tf32", "--fast"}) {
    const auto trained = json("train", {option});
    EXPECT_GT(trained.at("peak_bytes"), 0) << option;
  }
}

TEST_F(CudaCommands, BenchComparesPolicies) {
  const auto bench = json("bench", {"--policies", "oracle,vdnn-all"});
  EXPECT_EQ(bench.at("policies").size(), 2U);
}

TEST_F(CudaCommands, ASecondGpuThatIsNotThereIsNamed) {
  const Finished done = vdnn({"plan", "alexnet", "--device", "cuda:99"});
  EXPECT_NE(done.status, 0);
  EXPECT_THAT(done.err, StartsWith("vdnn: no device cuda:99"));
}

}  // namespace
}  // namespace vdnn::testing
