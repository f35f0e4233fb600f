#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "support/vdnn_process.h"

// The study's tables and charts are files of docs/study; they are made again and compared byte by byte.
namespace vdnn::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::set<std::string> files_of(const std::string& directory) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(directory))
    names.insert(entry.path().filename().string());
  return names;
}

class GoldenStudy : public ::testing::TestWithParam<const char*> {};

TEST_P(GoldenStudy, MakesTheFilesOfTheDocumentation) {
  const std::string expected = std::string(VDNN_SOURCE "/docs/study/") + GetParam();
  const TemporaryDirectory directory;
  const std::string made = directory.path() + "/" + GetParam();
  const Finished run = vdnn({"study", "--device", std::string("profile:") + GetParam(), "-o", made});
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_EQ(files_of(made), files_of(expected));
  for (const auto& name : files_of(expected)) {
    EXPECT_EQ(read_file(fmt::format("{}/{}", made, name)), read_file(fmt::format("{}/{}", expected, name)))
        << name << ": if the change is meant, run vdnn study --device profile:" << GetParam()
        << " -o docs/study/" << GetParam();
  }
}

INSTANTIATE_TEST_SUITE_P(Profiles, GoldenStudy, ::testing::Values("titan-x", "titan-x-cudnn4"));

TEST(Study, PrintsEveryTable) {
  const Finished run = vdnn({"study"});
  EXPECT_EQ(run.status, 0) << run.err;
  for (const char* title : {"The paper's figures and ours", "Network-wide allocation",
                            "Trainable in 12.0 GiB", "Memory in use", "Bytes offloaded", "Time of a step"})
    EXPECT_THAT(run.out, HasSubstr(title));
}

TEST(Study, ASmallerBudgetTrainsLess) {
  const Finished run = vdnn({"study", "--memory", "4GiB"});
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out, AllOf(HasSubstr("Trainable in 4.00 GiB"), HasSubstr(" -")));
}

TEST(Sweep, HasItsPointsInRisingOrderOfBudget) {
  const TemporaryDirectory directory;
  const std::string json = directory.path() + "/sweep.json";
  const std::string svg = directory.path() + "/sweep.svg";
  const Finished run = vdnn({"sweep", "alexnet", "--batch", "64", "--device", "profile:titan-x", "--points",
                             "5", "--json", json, "--svg", svg});
  ASSERT_EQ(run.status, 0) << run.err;
  const auto sweep = nlohmann::json::parse(read_file(json));
  EXPECT_EQ(sweep.at("policy"), "auto");
  EXPECT_GE(sweep.at("least_budget_bytes"), sweep.at("lower_bound_bytes"));
  ASSERT_EQ(sweep.at("points").size(), 5U);
  EXPECT_EQ(sweep.at("points")[0].at("budget_bytes"), sweep.at("least_budget_bytes"));
  for (std::size_t i = 0; i < 5; ++i) {
    const auto& point = sweep.at("points")[i];
    EXPECT_LE(point.at("peak_bytes"), point.at("budget_bytes"));
    EXPECT_GT(point.at("predicted_seconds"), 0);
    EXPECT_FALSE(point.contains("measured_seconds"));
    if (i == 0) continue;
    const auto& before = sweep.at("points")[i - 1];
    EXPECT_GT(point.at("budget_bytes"), before.at("budget_bytes"));
    EXPECT_LE(point.at("slowdown"), before.at("slowdown"));
  }
  EXPECT_THAT(read_file(svg), HasSubstr("time against budget"));
}

TEST(Study, RefusesWhatItCannotDo) {
  for (const auto& arguments :
       std::vector<std::vector<std::string>>{{"study", "--device", "reference"},
                                             {"study", "--device", "profile:titan-y"},
                                             {"study", "--device", "cpu", "--memory", "1GiB"},
                                             {"study", "--memory", "much"}}) {
    EXPECT_EQ(vdnn(arguments).status, 2) << arguments.back();
  }
}

TEST(Study, ADirectoryThatCannotBeMadeIsAFailure) {
  const TemporaryDirectory directory;
  const Finished run = vdnn({"study", "-o", "/dev/null/study"});
  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.err, HasSubstr("/dev/null/study"));
}

}  // namespace
}  // namespace vdnn::testing
