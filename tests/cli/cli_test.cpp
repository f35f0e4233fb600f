#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "support/vdnn_process.h"

namespace vdnn::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

// A small network and data that is always there, with all files in a directory of the test's own.
class Cli : public ::testing::Test {
 protected:
  [[nodiscard]] std::string path(const std::string& name) const { return directory_.path() + "/" + name; }

  Finished run(const std::string& command, const std::vector<std::string>& more = {}) {
    return vdnn(arguments(command, more));
  }

  [[nodiscard]] std::vector<std::string> arguments(const std::string& command,
                                                   const std::vector<std::string>& more) const {
    const std::vector<std::pair<std::string, std::string>> defaults = {
        {"--data", "synthetic:40"}, {"--classes", "10"},        {"--image", "64"},         {"--batch", "4"},
        {"--steps", "2"},           {"--spill", path("spill")}, {"--cache", path("cache")}};
    std::vector<std::string> all = {command, "alexnet"};
    for (const auto& [option, value] : defaults) {
      if (std::find(more.begin(), more.end(), option) != more.end()) continue;
      all.insert(all.end(), {option, value});
    }
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }

  void SetUp() override { std::filesystem::create_directories(path("spill")); }

  [[nodiscard]] nlohmann::json json(const std::string& name) const {
    return nlohmann::json::parse(read_file(path(name)));
  }

  TemporaryDirectory directory_;
};

void expect_usage(const Finished& run, const std::string& says) {
  EXPECT_EQ(run.status, 2) << run.err;
  EXPECT_THAT(run.err, HasSubstr(says));
  EXPECT_THAT(run.out, IsEmpty());
}

TEST_F(Cli, HelpHasAnExampleForEveryCommand) {
  const Finished all = vdnn({"--help"});
  EXPECT_EQ(all.status, 0);
  for (const char* command : {"train", "verify", "bench", "plan", "study", "sweep", "profile", "report",
                              "models", "policies", "devices"}) {
    EXPECT_THAT(all.out, HasSubstr(command));
    const Finished one = vdnn({command, "--help"});
    EXPECT_EQ(one.status, 0);
    EXPECT_THAT(one.out, HasSubstr(std::string("Example: vdnn ") + command));
  }
}

TEST_F(Cli, SaysItsVersion) {
  EXPECT_THAT(vdnn({"--version"}).out, ::testing::MatchesRegex("vdnn [0-9]+\\.[0-9]+\\.[0-9]+\n"));
}

TEST_F(Cli, RefusesWhatItDoesNotKnow) {
  expect_usage(vdnn({}), "subcommand");
  expect_usage(vdnn({"trian", "vgg-16"}), "trian");
  expect_usage(vdnn({"train"}), "model");
  expect_usage(vdnn({"train", "vgg-17"}), "vgg-16");
  expect_usage(run("train", {"--policy", "vdnn-al"}), "vdnn-all");
  expect_usage(run("train", {"--algorithms", "fast"}), "performance");
  expect_usage(run("train", {"--device", "cuba"}), "did you mean 'cuda'");
  expect_usage(run("train", {"--device", "abacus"}), "known: ");
  expect_usage(run("train", {"--data", "fashion-mist"}), "fashion-mnist");
  expect_usage(run("train", {"--no-such-option"}), "no-such-option");
  expect_usage(run("bench", {"--policies", "oracle,vdnn"}), "vdnn-");
  expect_usage(vdnn({"models", "--print", "alexnot"}), "alexnet");
}

TEST_F(Cli, RefusesSizesThatAreNone) {
  for (const char* size : {"0", "-1", "abc", "1.5X", "", "1e400", "nan", "99999999999GiB"}) {
    const Finished refused = run("train", {"--memory=" + std::string(size)});
    EXPECT_EQ(refused.status, 2) << size << ": " << refused.err;
  }
  expect_usage(run("train", {"--memory", "4000TB"}), "free");
}

TEST_F(Cli, TakesSizesAsPeopleWriteThem) {
  for (const char* size : {"1GiB", "1.5G", "800MB", "900000000"}) {
    EXPECT_EQ(run("train", {"--memory", size, "--algorithms", "memory"}).status, 0) << size;
  }
}

TEST_F(Cli, RefusesImpossibleValues) {
  expect_usage(run("train", {"--batch", "0"}), "batch");
  expect_usage(run("train", {"--batch", "-3"}), "batch");
  expect_usage(run("train", {"--batch", "4611686018427387904"}), "");
  expect_usage(run("train", {"--batch", "1000000000000"}), "lower the batch");
  expect_usage(run("train", {"--image", "16"}), "too small");
  expect_usage(run("train", {"--image", "0"}), "");
  expect_usage(run("train", {"--classes", "0"}), "class");
  expect_usage(run("train", {"--steps", "0"}), "steps");
  expect_usage(run("train", {"--threads", "0"}), "threads");
  expect_usage(run("train", {"--momentum", "1.5"}), "momentum");
}

TEST_F(Cli, SaysWhatTheBudgetWouldHaveToBe) {
  const Finished refused = run(
      "train", {"--policy", "vdnn-all", "--algorithms", "memory", "--memory", "1MiB", "--json", path("o")});
  EXPECT_EQ(refused.status, 3);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("cannot fit"), HasSubstr("least budget")));
  const auto least = json("o").at("least_budget_bytes").get<std::int64_t>();
  EXPECT_EQ(json("o").at("fits"), false);
  const auto with = [&](std::int64_t bytes) {
    return run("train", {"--policy", "vdnn-all", "--algorithms", "memory", "--memory", std::to_string(bytes)})
        .status;
  };
  EXPECT_EQ(with(least), 0);
  EXPECT_EQ(with(least - 1), 3);
}

TEST_F(Cli, TrainsAndReportsItAll) {
  const Finished done = run("train", {"--policy", "vdnn-all", "--memory", "800MiB", "--json", path("o.json"),
                                      "--save", path("w.safetensors")});
  ASSERT_EQ(done.status, 0) << done.err;
  const auto report = json("o.json");
  for (const char* key : {"losses", "step_seconds", "budget_bytes", "peak_bytes", "planned_peak_bytes",
                          "network_wide_bytes", "peak_bytes_by_role", "offloaded_bytes", "prefetched_bytes",
                          "stall_seconds", "hidden_copy_share", "weights_digest", "policy", "device"}) {
    EXPECT_TRUE(report.contains(key)) << key;
  }
  EXPECT_EQ(report.at("losses").size(), 2);
  EXPECT_EQ(report.at("policy"), "vdnn-all");
  EXPECT_EQ(report.at("budget_bytes"), 800LL << 20);
  EXPECT_LE(report.at("peak_bytes"), report.at("budget_bytes"));
  EXPECT_GT(report.at("offloaded_bytes"), 0);
  EXPECT_THAT(done.out, AllOf(HasSubstr("loss "), HasSubstr("peak "), HasSubstr("moved ")));
  EXPECT_GT(std::filesystem::file_size(path("w.safetensors")), 1000);
  EXPECT_TRUE(std::filesystem::is_empty(path("spill")));
}

TEST_F(Cli, JsonAloneOnStandardOutput) {
  for (const char* command : {"train", "verify", "bench"}) {
    const Finished done = run(command, {"--json", "-"});
    ASSERT_EQ(done.status, 0) << done.err;
    EXPECT_TRUE(nlohmann::json::accept(done.out)) << command << done.out;
  }
  for (const char* command : {"models", "policies", "devices"}) {
    EXPECT_TRUE(nlohmann::json::accept(vdnn({command, "--json", "-"}).out)) << command;
  }
}

TEST_F(Cli, TheSameSeedGivesTheSameDigestUnderEveryPolicy) {
  std::string digest;
  for (const char* policy : {"baseline", "vdnn-conv", "vdnn-all"}) {
    ASSERT_EQ(run("train", {"--policy", policy, "--algorithms", "memory", "--json", path("o")}).status, 0);
    if (digest.empty()) digest = json("o").at("weights_digest");
    EXPECT_EQ(json("o").at("weights_digest"), digest) << policy;
  }
  ASSERT_EQ(run("train", {"--seed", "2", "--algorithms", "memory", "--json", path("o")}).status, 0);
  EXPECT_NE(json("o").at("weights_digest"), digest);
}

TEST_F(Cli, VerifyComparesAndSaysHowMuch) {
  const Finished done = run("verify", {"--policy", "vdnn-all", "--poison", "--json", path("o")});
  ASSERT_EQ(done.status, 0) << done.err;
  EXPECT_THAT(done.out, StartsWith("equal: 2 losses and "));
  EXPECT_EQ(json("o").at("equal"), true);
  EXPECT_GT(json("o").at("weights_compared"), 1000);
  EXPECT_GT(json("o").at("offloaded_bytes"), 0);
}

TEST_F(Cli, BenchSetsPoliciesSideBySide) {
  const Finished done = run("bench", {"--policies", "oracle:m,vdnn-all:m,vdnn-all:p", "--json", path("o")});
  ASSERT_EQ(done.status, 0) << done.err;
  const auto rows = json("o").at("policies");
  ASSERT_EQ(rows.size(), 3);
  EXPECT_EQ(rows[0].at("ratio"), 1.0);
  EXPECT_EQ(rows[1].at("algorithms"), "memory");
  EXPECT_EQ(rows[2].at("algorithms"), "performance");
  EXPECT_EQ(rows[1].at("ratios").size(), 2);
}

// `plan` knows neither data nor steps.
class CliPlan : public Cli {
 protected:
  Finished plan(std::vector<std::string> more) {
    std::vector<std::string> words = {"plan", "alexnet", "--classes",   "10",      "--image",
                                      "64",   "--spill", path("spill"), "--cache", path("cache")};
    words.insert(words.end(), more.begin(), more.end());
    return vdnn(words);
  }
};

TEST_F(CliPlan, SaysWhetherItFitsAndWhy) {
  const Finished done = plan({"--batch", "8", "--memory", "800MiB", "--json", path("o")});
  ASSERT_EQ(done.status, 0) << done.err;
  EXPECT_THAT(done.out, AllOf(HasSubstr("fits in 800 MiB under auto"), HasSubstr("least budget"),
                              HasSubstr("no plan in this budget takes less"), HasSubstr("a step predicted"),
                              HasSubstr("are alive")));
  const auto report = json("o");
  for (const char* key : {"least_budget_bytes", "network_wide_bytes", "unused_share", "predicted_seconds",
                          "oracle_seconds", "slowdown", "peak_bytes", "peak_bytes_by_role", "passes",
                          "algorithms", "trips", "peak_kernel", "peak_residents"}) {
    EXPECT_TRUE(report.contains(key)) << key;
  }
  EXPECT_GT(report.at("predicted_seconds"), 0);
  std::int64_t live = 0;
  for (const auto& resident : report.at("peak_residents")) live += resident.at("bytes").get<std::int64_t>();
  EXPECT_EQ(live, report.at("peak_live_bytes"));
  EXPECT_EQ(plan({"--batch", "8", "--memory", "1MiB", "--json", path("o")}).status, 3);
  EXPECT_EQ(json("o").at("least_budget_bytes"), report.at("least_budget_bytes"));
}

TEST_F(CliPlan, WritesAPlanThatTrainRuns) {
  ASSERT_EQ(plan({"--batch", "4", "--policy", "vdnn-all", "--memory", "500MiB", "-o", path("plan")}).status,
            0);
  const Finished done = run("train", {"--plan", path("plan"), "--json", path("o")});
  ASSERT_EQ(done.status, 0) << done.err;
  EXPECT_EQ(json("o").at("policy"), "vdnn-all");
  EXPECT_GT(json("o").at("offloaded_bytes"), 0);
  expect_usage(run("train", {"--plan", path("plan"), "--batch", "3"}), "another program");
  expect_usage(run("train", {"--plan", path("plan"), "--policy", "vdnn-all"}), "--policy");
  EXPECT_EQ(run("train", {"--plan", path("nowhere")}).status, 1);
  write_file(path("broken"), read_file(path("plan")).substr(0, 1000));
  expect_usage(run("train", {"--plan", path("broken")}), "plan: ");
}

TEST_F(CliPlan, FindsTheLargestBatch) {
  const std::vector<std::string> all = {"--memory", "500MiB",       "--policy",
                                        "vdnn-all", "--algorithms", "memory"};
  auto search = all;
  search.insert(search.end(), {"--largest-batch", "--json", path("o")});
  ASSERT_EQ(plan(search).status, 0);
  const auto batch = json("o").at("policies").at(0).at("largest_batch").get<std::int64_t>();
  const auto with = [&](std::int64_t images) {
    auto words = all;
    words.insert(words.end(), {"--batch", std::to_string(images)});
    return plan(words).status;
  };
  EXPECT_EQ(with(batch), 0);
  EXPECT_EQ(with(batch + 1), 3);
}

TEST_F(CliPlan, FindsNoBatchWhereNotEvenOneImageFits) {
  const Finished done = plan({"--memory", "1MiB", "--largest-batch"});
  EXPECT_EQ(done.status, 0);
  EXPECT_THAT(done.out, HasSubstr("not even one image"));
}

TEST_F(Cli, VdnnDynChoosesItsAlgorithmsItself) {
  expect_usage(run("train", {"--policy", "vdnn-dyn", "--algorithms", "memory"}), "leave out");
  expect_usage(run("bench", {"--policies", "vdnn-dyn:m"}), "leave out");
  ASSERT_EQ(run("train", {"--policy", "vdnn-dyn", "--json", path("o")}).status, 0);
  EXPECT_EQ(json("o").at("policy"), "vdnn-dyn");
  EXPECT_EQ(json("o").at("algorithms"), "mixed");
  ASSERT_EQ(run("train", {"--json", path("o")}).status, 0);
  EXPECT_EQ(json("o").at("policy"), "auto");
}

TEST_F(Cli, ANetworkFileStandsForAName) {
  const Finished printed = vdnn({"models", "--print", "googlenet-plain", "--image", "64", "--classes", "10"});
  ASSERT_EQ(printed.status, 0);
  write_file(path("mine.net"), printed.out);
  const auto losses = [&](const std::string& model) {
    std::vector<std::string> words = {"train",  model,         "--image", "64", "--batch",      "2",
                                      "--data", "synthetic:8", "--steps", "1",  "--algorithms", "memory",
                                      "--json", path("o")};
    if (model == "googlenet-plain") words.insert(words.end(), {"--classes", "10"});
    const Finished done = vdnn(words);
    EXPECT_EQ(done.status, 0) << done.err;
    return json("o").at("losses");
  };
  EXPECT_EQ(losses(path("mine.net")), losses("googlenet-plain"));
  write_file(path("broken.net"), printed.out.substr(0, printed.out.size() / 2) + " ?");
  EXPECT_EQ(vdnn({"train", path("broken.net")}).status, 2);
}

TEST_F(Cli, FailsOnDataThatIsMissingOrBroken) {
  EXPECT_EQ(run("train", {"--data", path("no-images") + "," + path("no-labels")}).status, 1);
  write_file(path("images"), idx_bytes({2, 4, 4}, std::vector<std::uint8_t>(30, 1)));
  write_file(path("labels"), idx_bytes({2}, {0, 1}));
  const Finished truncated = run("train", {"--data", path("images") + "," + path("labels")});
  EXPECT_EQ(truncated.status, 1);
  EXPECT_THAT(truncated.err, HasSubstr(path("images")));
  write_file(path("images"), idx_bytes({2, 4, 4}, std::vector<std::uint8_t>(32, 1)));
  const Finished few = run("train", {"--data", path("images") + "," + path("labels")});
  EXPECT_EQ(few.status, 1);
  EXPECT_THAT(few.err, HasSubstr("fewer than one batch"));
  write_file(path("labels"), idx_bytes({2}, {0, 10}));
  const Finished range = run("train", {"--batch", "2", "--data", path("images") + "," + path("labels")});
  EXPECT_EQ(range.status, 1);
  EXPECT_THAT(range.err, HasSubstr("label"));
}

TEST_F(Cli, FailsOnASpillDirectoryThatIsNone) {
  const Finished missing = run("train", {"--policy", "vdnn-all", "--spill", path("nowhere")});
  EXPECT_EQ(missing.status, 1);
  EXPECT_THAT(missing.err, HasSubstr(path("nowhere")));
  write_file(path("file"), "");
  EXPECT_EQ(run("train", {"--policy", "vdnn-all", "--spill", path("file")}).status, 1);
}

TEST_F(Cli, FailsEarlyOnWhatItCouldNotWrite) {
  for (const char* option : {"--json", "--save"}) {
    const Finished refused = run("train", {option, path("nowhere/file")});
    EXPECT_EQ(refused.status, 1);
    EXPECT_THAT(refused.err, AllOf(HasSubstr(path("nowhere")), Not(HasSubstr("step 1"))));
    EXPECT_EQ(run("train", {option, path("spill")}).status, 1);
  }
}

TEST_F(Cli, StopsCleanlyWhenInterrupted) {
  Vdnn process(arguments("train", {"--policy", "vdnn-all", "--steps", "100000", "--json", path("o"), "--save",
                                   path("weights")}));
  ASSERT_TRUE(process.wait_for("step 1/"));
  process.interrupt();
  process.interrupt();  // as `timeout` does: once to the process, once to its group
  const Finished stopped = process.finish();
  EXPECT_EQ(stopped.status, 1) << stopped.err;
  EXPECT_THAT(stopped.err, HasSubstr("interrupted: "));
  EXPECT_EQ(json("o").at("interrupted"), true);
  EXPECT_EQ(json("o").at("steps"), json("o").at("losses").size());
  EXPECT_TRUE(std::filesystem::exists(path("weights")));
  EXPECT_TRUE(std::filesystem::is_empty(path("spill")));
}

TEST_F(Cli, AnInterruptedBenchSaysSo) {
  Vdnn process(
      arguments("bench", {"--policies", "oracle:m,vdnn-all:m", "--steps", "100000", "--json", path("o")}));
  ASSERT_TRUE(process.wait_for("bench 1/"));
  process.interrupt();
  const Finished stopped = process.finish();
  EXPECT_EQ(stopped.status, 1) << stopped.err;
  EXPECT_THAT(stopped.err, HasSubstr("interrupted"));
  EXPECT_EQ(json("o").at("interrupted"), true);
}

TEST_F(Cli, SavesTheWeightsEvenWhereTheReportCannotBeWritten) {
  const Finished done = run("train", {"--json", "/dev/full", "--save", path("weights")});
  EXPECT_EQ(done.status, 1);
  EXPECT_TRUE(std::filesystem::exists(path("weights")));
}

TEST_F(Cli, WritesThroughALink) {
  write_file(path("target"), "old");
  std::filesystem::create_symlink(path("target"), path("link"));
  ASSERT_EQ(vdnn({"policies", "--json", path("link")}).status, 0);
  EXPECT_TRUE(std::filesystem::is_symlink(path("link")));
  EXPECT_TRUE(json("target").is_array());
}

TEST_F(Cli, RefusesNumbersThatAreNone) {
  for (const char* option : {"--lr", "--momentum", "--weight-decay"}) {
    for (const char* value : {"nan", "inf", "-1", "fast", "1x"})
      expect_usage(run("train", {option, value}), std::string("'") + value + "' is not a");
  }
  for (const char* option : {"--steps", "--epochs", "--batch", "--seed"}) {
    for (const char* value : {"-1", "1.5", "abc", "99999999999999999999"})
      expect_usage(run("train", {option, value}), std::string("'") + value + "' is not a whole number");
  }
  for (const char* option : {"--memory", "--policy", "--json", "--save", "--plan"})
    expect_usage(run("train", {option, ""}), "must not be empty");
  expect_usage(run("bench", {"--policies", ""}), "no policy");
}

// Sizes that no machine has are refused before anything is made for them.
TEST_F(CliPlan, AnswersAtOnceForHugeBatches) {
  const std::vector<std::string> lean = {"--policy", "vdnn-all", "--algorithms",
                                         "memory",   "--memory", "500MiB"};
  auto words = lean;
  words.insert(words.end(), {"--batch", "1000000000"});
  EXPECT_EQ(plan(words).status, 3);
}

TEST_F(CliPlan, LargestBatchRefusesWhatItWouldIgnore) {
  expect_usage(plan({"--largest-batch", "-o", path("plan")}), "--output");
  expect_usage(plan({"--largest-batch", "--policy", "vdnn-dyn", "--algorithms", "memory"}), "leave out");
}

}  // namespace
}  // namespace vdnn::testing
