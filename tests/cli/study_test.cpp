#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
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
