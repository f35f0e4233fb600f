#include "run/cost_cache.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "support/file_bytes.h"
#include "support/temporary_directory.h"

namespace vdnn::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

// Two kernels with the same signature and two candidates, another with three slices of one algorithm, and one
// without a choice. Measuring candidate c of kernel k takes k + c / 4 + 1 seconds.
class FakeExecutable : public Executable {
 public:
  explicit FakeExecutable(std::string machine = "machine") : machine_(std::move(machine)) {
    program_.buffers = {{.name = "map", .bytes = 600}};
    program_.kernels = {
        {.candidates = {{.algorithm = "direct"}, {.algorithm = "winograd"}}, .signature = "a"},
        {.candidates = {{.algorithm = "direct"}, {.algorithm = "winograd"}}, .signature = "a"},
        {.reads = {{.buffer = BufferId(0), .bytes = 300}},
         .writes = {{.buffer = BufferId(0), .offset_bytes = 300, .bytes = 300}},
         .candidates = {{.algorithm = "loops"},
                        {.algorithm = "loops", .slices = 2, .workspace_bytes = 200},
                        {.algorithm = "loops", .slices = 4}},
         .signature = "b"},
        {.candidates = {{.algorithm = "loops"}}, .signature = "c"}};
  }

  [[nodiscard]] const Program& program() const override { return program_; }
  [[nodiscard]] std::vector<BoundTensor> tensor(TensorId) const override { return {}; }
  [[nodiscard]] std::string cost_key(int threads) const override {
    return fmt::format("{} {}", machine_, threads);
  }
  std::unique_ptr<KernelTimer> open_timer(int) override { return std::make_unique<Timer>(*this); }
  void set_seconds(KernelId kernel, int candidate, double seconds) override {
    program_.kernels[kernel.index()].candidates[static_cast<std::size_t>(candidate)].seconds = seconds;
  }
  std::unique_ptr<DeviceContext> open(const ArenaOptions&) override { return nullptr; }

  [[nodiscard]] std::vector<std::vector<double>> seconds() const {
    std::vector<std::vector<double>> all;
    for (const auto& kernel : program_.kernels) {
      all.emplace_back();
      for (const auto& candidate : kernel.candidates) all.back().push_back(candidate.seconds);
    }
    return all;
  }
  [[nodiscard]] int timers() const { return timers_; }
  [[nodiscard]] int measurements() const { return measurements_; }

 private:
  class Timer : public KernelTimer {
   public:
    explicit Timer(FakeExecutable& executable) : executable_(executable) { ++executable_.timers_; }
    double seconds(KernelId kernel, int candidate) override {
      ++executable_.measurements_;
      return static_cast<double>(kernel.index()) + 0.25 * candidate + 1;
    }

   private:
    FakeExecutable& executable_;
  };

  std::string machine_;
  Program program_;
  int timers_ = 0;
  int measurements_ = 0;
};

// One measurement for each algorithm and slicing of the signatures a and b.
constexpr int kMeasurements = 5;
const std::vector<std::vector<double>> kSeconds = {{1, 1.25}, {1, 1.25}, {3, 3.25, 3.5}, {0}};

void measure(FakeExecutable& executable, const std::string& directory, std::int64_t limit_bytes = 1000) {
  measure_kernels(executable, KernelsToTime::with_a_choice, directory, limit_bytes, 2, nullptr);
}

class CostCache : public ::testing::Test {
 protected:
  [[nodiscard]] std::string file() const { return directory_.path() + "/kernel_times.json"; }

  // Runs after a file with this content behave as if it were not there, or not its broken parts.
  void expect_measured_again(const std::string& content, int measurements) {
    write_file(file(), content);
    FakeExecutable first;
    ASSERT_NO_THROW(measure(first, directory_.path())) << content;
    EXPECT_EQ(first.measurements(), measurements) << content;
    EXPECT_EQ(first.seconds(), kSeconds) << content;
    FakeExecutable second;
    measure(second, directory_.path());
    EXPECT_EQ(second.measurements(), 0) << content;
    EXPECT_EQ(second.seconds(), kSeconds) << content;
  }

  TemporaryDirectory directory_;
};

TEST_F(CostCache, MeasuresEachSignatureOnceWhereThereIsAChoice) {
  FakeExecutable executable;
  measure(executable, directory_.path());
  EXPECT_EQ(executable.measurements(), kMeasurements);
  EXPECT_EQ(executable.timers(), 1);
  EXPECT_EQ(executable.seconds(), kSeconds);
}

TEST_F(CostCache, MeasuresEveryKernelWhereAllAreAskedFor) {
  FakeExecutable executable;
  measure(executable, directory_.path());
  measure_kernels(executable, KernelsToTime::all, directory_.path(), 1000, 2, nullptr);
  EXPECT_EQ(executable.measurements(), kMeasurements + 1);
  EXPECT_THAT(executable.seconds()[3], ElementsAre(4));
}

TEST_F(CostCache, UsesTimesAgain) {
  FakeExecutable first;
  measure(first, directory_.path());
  FakeExecutable second;
  measure(second, directory_.path());
  EXPECT_EQ(second.timers(), 0);
  EXPECT_EQ(second.measurements(), 0);
  EXPECT_EQ(second.seconds(), kSeconds);
}

TEST_F(CostCache, UsesTheTimesThatTheFileHas) {
  write_file(file(), R"({"machine 2": {"a | direct/1": 17.5}})");
  FakeExecutable executable;
  measure(executable, directory_.path());
  EXPECT_EQ(executable.measurements(), kMeasurements - 1);
  EXPECT_THAT(executable.seconds()[1], ElementsAre(17.5, 1.25));
}

TEST_F(CostCache, KeepsTheTimesOfMachinesApart) {
  FakeExecutable first("one");
  FakeExecutable second("other");
  measure(first, directory_.path());
  measure(second, directory_.path());
  EXPECT_EQ(second.measurements(), kMeasurements);
  FakeExecutable again("one");
  measure(again, directory_.path());
  EXPECT_EQ(again.measurements(), 0);
}

TEST_F(CostCache, KeepsTheTimesOfOtherKernels) {
  write_file(file(), R"({"machine 2": {"other | direct/1": 7}})");
  FakeExecutable executable;
  measure(executable, directory_.path());
  EXPECT_EQ(nlohmann::json::parse(read_file(file()))["machine 2"]["other | direct/1"], 7);
}

TEST_F(CostCache, IgnoresAndReplacesAFileThatIsNotOne) {
  for (const char* content :
       {"", "{", "not json", "[]", "3", "null", "{\"machine 2\": {\"a | direct/1\": 1e999}}", "{\"\xff\": 1}",
        "\x1f\x8b\x08"}) {
    expect_measured_again(content, kMeasurements);
  }
}

TEST_F(CostCache, IgnoresAndReplacesAMachineWithoutTimes) {
  for (const char* content : {"{}", "{\"machine 2\": 3}", "{\"machine 2\": []}", "{\"machine 2\": null}",
                              "{\"machine 2\": \"times\"}"}) {
    expect_measured_again(content, kMeasurements);
  }
}

TEST_F(CostCache, MeasuresAgainWhatIsNoTime) {
  for (const char* value : {"0", "-1", "\"fast\"", "null", "{}", "[1]"}) {
    expect_measured_again(
        fmt::format("{{\"machine 2\": {{\"a | direct/1\": {}, \"a | winograd/1\": 1.25}}}}", value),
        kMeasurements - 1);
  }
}

// The map takes 640 bytes with its padding, and is counted once.
TEST_F(CostCache, DoesNotMeasureWhatExceedsTheLimit) {
  FakeExecutable first;
  measure(first, directory_.path(), 839);
  EXPECT_EQ(first.measurements(), kMeasurements - 1);
  EXPECT_THAT(first.seconds()[2], ElementsAre(3, 0, 3.5));
  FakeExecutable second;
  measure(second, directory_.path(), 840);
  EXPECT_EQ(second.measurements(), 1);
  EXPECT_EQ(second.seconds(), kSeconds);
}

TEST_F(CostCache, HidesWhatExceedsTheLimitEvenWhereItIsKnown) {
  FakeExecutable executable;
  measure(executable, directory_.path());
  measure(executable, directory_.path(), 839);
  EXPECT_THAT(executable.seconds()[2], ElementsAre(3, 0, 3.5));
  measure(executable, directory_.path(), 639);
  EXPECT_THAT(executable.seconds()[2], ElementsAre(0, 0, 0));
  EXPECT_THAT(executable.seconds()[1], ElementsAre(1, 1.25));
}

TEST_F(CostCache, MakesItsDirectory) {
  const std::string deep = directory_.path() + "/not/there/yet";
  FakeExecutable executable;
  measure(executable, deep);
  EXPECT_TRUE(std::filesystem::exists(deep + "/kernel_times.json"));
}

TEST_F(CostCache, LeavesNoOtherFile) {
  FakeExecutable executable;
  measure(executable, directory_.path());
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(directory_.path())) {
    names.push_back(entry.path().filename());
  }
  EXPECT_THAT(names, ElementsAre("kernel_times.json"));
}

TEST_F(CostCache, ADirectoryThatCannotBeMadeIsNoError) {
  write_file(directory_.path() + "/file", "");
  FakeExecutable executable;
  EXPECT_NO_THROW(measure(executable, directory_.path() + "/file/below"));
  EXPECT_EQ(executable.seconds(), kSeconds);
  EXPECT_EQ(read_file(directory_.path() + "/file"), "");
}

TEST_F(CostCache, AFileThatCannotBeReplacedIsNoError) {
  std::filesystem::create_directories(file() + "/occupied");
  FakeExecutable executable;
  EXPECT_NO_THROW(measure(executable, directory_.path()));
  EXPECT_EQ(executable.seconds(), kSeconds);
  EXPECT_TRUE(std::filesystem::is_directory(file()));
}

TEST_F(CostCache, WithoutADirectoryMeasuresEveryTime) {
  for (int run = 0; run < 2; ++run) {
    FakeExecutable executable;
    measure(executable, "");
    EXPECT_EQ(executable.measurements(), kMeasurements);
  }
}

TEST_F(CostCache, ReportsItsProgress) {
  std::vector<std::pair<std::int64_t, std::int64_t>> reports;
  FakeExecutable executable;
  measure_kernels(executable, KernelsToTime::with_a_choice, "", 1000, 2,
                  [&](auto done, auto total) { reports.emplace_back(done, total); });
  EXPECT_THAT(reports, ElementsAre(Pair(0, 5), Pair(1, 5), Pair(2, 5), Pair(3, 5), Pair(4, 5), Pair(5, 5)));
}

}  // namespace
}  // namespace vdnn::testing
