#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support/vdnn_process.h"

// What the commands say of devices, and of the memory below them.
namespace vdnn::testing {
namespace {

using ::testing::HasSubstr;

nlohmann::json json_of(const std::vector<std::string>& words) {
  const Finished done = vdnn(words);
  EXPECT_EQ(done.status, 0) << done.err;
  return nlohmann::json::parse(done.out);
}

TEST(Devices, AreListedWhereverTheyAre) {
  bool cuda = false;
  for (const auto& row : json_of({"devices", "--json", "-"})) {
    const bool available = row.at("available").get<bool>();
    EXPECT_TRUE(row.contains(available ? "free_bytes" : "why_not")) << row;
    cuda |= row.at("name") == "cuda";
    if (row.at("name") == "cpu") {
      EXPECT_TRUE(available);
    }
  }
  EXPECT_TRUE(cuda);
}

TEST(Devices, SayWhichOpsTheyHaveKernelsFor) {
  const auto rows = json_of({"ops", "--json", "-"});
  EXPECT_EQ(rows.size(), 26U);
  for (const auto& row : rows) {
    for (const char* device : {"cpu", "cuda", "reference"}) EXPECT_EQ(row.at(device), true) << row;
  }
}

TEST(Devices, WhatTheHostCannotHoldGoesToDisk) {
  const std::vector<std::string> asked = {
      "plan", "vgg-16", "--batch", "128",      "--device", "profile:titan-x", "--memory",
      "8GiB", "--json", "-",       "--policy", "vdnn-all", "--algorithms",    "memory"};
  const auto all = json_of(asked);
  EXPECT_EQ(all.at("far_tier_bytes"), 0);
  auto capped = asked;
  capped.insert(capped.end(), {"--host-memory", "1GiB"});
  const auto some = json_of(capped);
  EXPECT_LE(some.at("tier_bytes"), std::int64_t{1} << 30);
  EXPECT_EQ(some.at("tier_bytes").get<std::int64_t>() + some.at("far_tier_bytes").get<std::int64_t>(),
            all.at("tier_bytes"));
  EXPECT_GT(some.at("predicted_seconds"), all.at("predicted_seconds"));
  EXPECT_GT(some.at("streams").at("far offload").size(), 0U);
  bool far = false;
  for (const auto& trip : some.at("trips")) far |= trip.at("tier") == "far";
  EXPECT_TRUE(far);
}

TEST(Devices, RefuseOptionsThatTheyDoNotHave) {
  const auto expect_refused = [](const std::vector<std::string>& more, const std::string& says) {
    std::vector<std::string> words = {"plan", "alexnet", "--image", "64", "--batch", "2"};
    words.insert(words.end(), more.begin(), more.end());
    const Finished done = vdnn(words);
    EXPECT_EQ(done.status, 2) << done.err;
    EXPECT_THAT(done.err, HasSubstr(says));
  };
  expect_refused({"--host-memory", "1GiB"}, "device cpu has no memory of its own");
  expect_refused({"--tf32"}, "device cpu has neither TF32");
  expect_refused({"--fast"}, "device cpu has neither TF32");
  expect_refused({"--device", "cuda:x"}, "unknown device 'cuda:x'");
  const Finished done = vdnn({"verify", "alexnet", "--fast"});
  EXPECT_EQ(done.status, 2);
  EXPECT_THAT(done.err, HasSubstr("differ from run to run"));
}

}  // namespace
}  // namespace vdnn::testing
