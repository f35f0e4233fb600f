#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support/file_bytes.h"
#include "support/gpu.h"
#include "support/temporary_directory.h"
#include "vdnn/profile.h"
#include "vdnn/session.h"
#include "vdnn/zoo.h"

namespace vdnn::testing {
namespace {

// cuDNN's engines, which have numbers for names, find their families, and what was measured predicts.
TEST(Profile, OfAGpuDescribesItsConvolutions) {
  const TemporaryDirectory directory;
  const std::string text = measure_profile({.name = "here",
                                            .device = "cuda",
                                            .cache_directory = directory.path(),
                                            .spill_directory = directory.path(),
                                            .networks = {{"alexnet", 4, 96}}});
  const auto profile = nlohmann::json::parse(text);
  bool implicit_gemm = false;
  for (const auto& algorithm : profile.at("convolution_algorithms")) {
    implicit_gemm |= algorithm.at("family") == "implicit_gemm";
    EXPECT_GT(algorithm.at("efficiency"), 0);
    EXPECT_LE(algorithm.at("efficiency"), 1);
  }
  EXPECT_TRUE(implicit_gemm);
  const std::string file = directory.path() + "/here.json";
  write_file(file, text);
  Job described(make_model("alexnet", {.batch = 4, .image = 96}), {.device = "profile:" + file});
  const Plan plan = described.plan({.policy = "vdnn-all", .budget_bytes = std::int64_t{1} << 30});
  EXPECT_GT(simulate(described.program(), plan, described.links()).step_seconds, 0);
}

}  // namespace
}  // namespace vdnn::testing
