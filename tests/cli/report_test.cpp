#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "support/browser.h"
#include "support/vdnn_process.h"

// Pages, looked at with a real browser, and traces.
namespace vdnn::testing {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::Gt;
using ::testing::HasSubstr;

class Report : public ::testing::Test {
 protected:
  [[nodiscard]] std::string path(const std::string& name) const { return directory_.path() + "/" + name; }

  // On a described machine: nothing is measured.
  void plan(const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {
        "plan",     "googlenet", "--batch", "128",           "--device", "profile:titan-x-cudnn4",
        "--memory", "2GiB",      "--json",  path("run.json")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Finished run = vdnn(arguments);
    ASSERT_EQ(run.status, 0) << run.err;
  }

  void train(const std::string& command, const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {
        command,   "alexnet",     "--data", "synthetic:40",  "--classes", "10",      "--image",
        "64",      "--batch",     "8",      "--steps",       "3",         "--spill", directory_.path(),
        "--cache", path("cache"), "--json", path("run.json")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Finished run = vdnn(arguments);
    ASSERT_EQ(run.status, 0) << run.err;
  }

  nlohmann::json page(int width = 900, Scheme scheme = Scheme::light) {
    const Finished run = vdnn({"report", path("run.json"), "-o", path("report.html")});
    EXPECT_EQ(run.status, 0) << run.err;
    return browse(path("report.html"), width, scheme);
  }

  [[nodiscard]] nlohmann::json trace() const { return nlohmann::json::parse(read_file(path("trace.json"))); }

  TemporaryDirectory directory_;
};

TEST_F(Report, OfAPlanShowsMemoryTimeBuffersAndPolicies) {
  plan({"--policy", "vdnn-dyn"});
  const auto seen = page();
  EXPECT_EQ(seen.at("foreign"), 0);  // nothing is loaded from anywhere
  EXPECT_THAT(seen.at("svg_heights").get<std::vector<double>>(), AllOf(::testing::SizeIs(3), Each(Gt(100))));
  EXPECT_GT(seen.at("rectangles"), 300);
  const auto words = seen.at("words").get<std::string>();
  for (const char* expected :
       {"googlenet, batch 128", "vdnn-dyn", "peak", "network-wide", "predicted step", "x the oracle",
        "In memory at the peak", "vdnn-all (p)", "does not fit", "workspace"})
    EXPECT_THAT(words, HasSubstr(expected));
}

TEST_F(Report, FitsAPhone) {
  plan({});
  const auto seen = page(390);
  EXPECT_LE(seen.at("width"), 390);
  EXPECT_THAT(seen.at("svg_heights").get<std::vector<double>>(), Each(Gt(80)));
}

TEST_F(Report, IsDarkWhereTheReadersSystemIs) {
  plan({});
  const auto light = page();
  const auto dark = page(900, Scheme::dark);
  EXPECT_EQ(light.at("background"), "rgb(255, 255, 255)");
  EXPECT_EQ(dark.at("background"), "rgb(22, 22, 22)");
  EXPECT_EQ(dark.at("text"), "rgb(238, 238, 238)");
}

TEST_F(Report, OfATrainingAndOfABench) {
  train("train", {"--policy", "vdnn-all", "--memory", "1GiB"});
  const auto run = page();
  EXPECT_THAT(run.at("words").get<std::string>(),
              AllOf(HasSubstr("as run"), HasSubstr("median of 3"), HasSubstr("resident")));
  EXPECT_EQ(run.at("svg_heights").size(), 2U);  // nothing was predicted
  train("bench", {"--policies", "oracle,vdnn-all", "--memory", "1GiB"});
  const auto bench = page();
  EXPECT_THAT(bench.at("words").get<std::string>(),
              AllOf(HasSubstr("oracle (p)"), HasSubstr("vdnn-all (p)"), HasSubstr("1.000")));
}

TEST_F(Report, RefusesWhatIsNoResult) {
  const auto message = [&](const std::string& content) {
    write_file(path("run.json"), content);
    const Finished run = vdnn({"report", path("run.json"), "-o", path("report.html")});
    EXPECT_EQ(run.status, 2) << content;
    EXPECT_FALSE(std::filesystem::exists(path("report.html")));
    return run.err;
  };
  EXPECT_THAT(message("not json"), HasSubstr("not JSON"));
  EXPECT_THAT(message("[]"), HasSubstr("run.json"));
  EXPECT_THAT(message("{}"), HasSubstr("not found"));
  EXPECT_THAT(message(R"({"model": 3, "batch": "x"})"), HasSubstr("run.json"));
  EXPECT_THAT(message(R"({"fits": false, "error": "cannot fit", "least_budget_bytes": 5})"),
              HasSubstr("cannot fit"));
  EXPECT_EQ(vdnn({"report", path("none.json")}).status, 1);
}

// Whatever one member holds, there is a page or a message, never a crash.
TEST_F(Report, NoChangedMemberCrashes) {
  plan({});
  const auto whole = nlohmann::json::parse(read_file(path("run.json")));
  for (const auto& [key, value] : whole.items()) {
    for (const auto& other : {nlohmann::json(), nlohmann::json(-1e300), nlohmann::json("text"),
                              nlohmann::json::array(), nlohmann::json::object()}) {
      auto changed = whole;
      changed[key] = other;
      write_file(path("run.json"), changed.dump());
      const int status = vdnn({"report", path("run.json"), "-o", path("report.html")}).status;
      EXPECT_TRUE(status == 0 || status == 2) << key << " " << other.dump() << " " << status;
    }
  }
}

TEST_F(Report, NamesCannotInjectMarkup) {
  plan({});
  auto run = nlohmann::json::parse(read_file(path("run.json")));
  run["model"] = "<script>alert(1)</script>";
  run["peak_residents"][0]["name"] = "<img src=x>";
  run["streams"]["compute"][0][2] = "</svg><script>1</script> forward";
  write_file(path("run.json"), run.dump());
  const auto seen = page();
  EXPECT_EQ(seen.at("foreign"), 0);
  EXPECT_THAT(seen.at("words").get<std::string>(), HasSubstr("<script>alert(1)</script>"));
}

void expect_sound_trace(const nlohmann::json& trace, int steps) {
  std::map<int, double> ends;
  std::map<std::string, int> categories;
  int counters = 0;
  std::vector<nlohmann::json> events = trace.at("traceEvents").get<std::vector<nlohmann::json>>();
  std::stable_sort(events.begin(), events.end(),
                   [](const auto& a, const auto& b) { return a.value("ts", -1.0) < b.value("ts", -1.0); });
  for (const auto& event : events) {
    const auto phase = event.at("ph").get<std::string>();
    if (phase == "C") {
      ++counters;
      double total = 0;
      for (const auto& [role, bytes] : event.at("args").items()) {
        EXPECT_GE(bytes, 0) << role;
        total += bytes.get<double>();
      }
      EXPECT_LE(total, trace.at("otherData").at("peak_bytes").get<double>());
    }
    if (phase != "X") continue;
    ++categories[event.at("cat").get<std::string>()];
    // On a track, one thing at a time; a nanosecond is a thousandth.
    double& end = ends[event.at("tid").get<int>()];
    EXPECT_GE(event.at("ts").get<double>(), end - 2e-3) << event.dump();
    end = event.at("ts").get<double>() + event.at("dur").get<double>();
  }
  EXPECT_EQ(ends.size(), 3U);
  EXPECT_GT(counters, 10 * steps);
  EXPECT_EQ(categories["kernel"] % steps, 0);
  EXPECT_GT(categories["kernel"], 10 * steps);
  EXPECT_GT(categories["copy"], 0);
  EXPECT_GT(categories["wait"], 0);
}

TEST_F(Report, ATraceOfAPrediction) {
  plan({"--trace", path("trace.json")});
  expect_sound_trace(trace(), 1);
}

TEST_F(Report, ATraceOfARun) {
  train("train", {"--policy", "vdnn-all", "--memory", "1GiB", "--trace", path("trace.json")});
  expect_sound_trace(trace(), 3);
}

}  // namespace
}  // namespace vdnn::testing
