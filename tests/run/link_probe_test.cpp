#include "run/link_probe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "plan/sample_network.h"
#include "support/faulty_tier.h"
#include "support/file_bytes.h"
#include "support/temporary_directory.h"

namespace vdnn::testing {
namespace {

constexpr LinkProbeSizes kSmall = {.copy_bytes = 64 * 1024, .tier_bytes = 1024 * 1024, .phase_seconds = 1e-3};

class LinkProbeTest : public ::testing::Test {
 protected:
  LinkProbeTest() : executable_(open_device("reference")->lower(differentiate(sample_network(16), {}), 1)) {}

  Links links(FaultyTier& tier) { return cached_links(*executable_, tier, 1, directory_.path(), kSmall); }

  std::unique_ptr<Executable> executable_;
  TemporaryDirectory directory_;
};

TEST_F(LinkProbeTest, FindsRatesAndWhatCopiesCost) {
  FaultyTier tier;
  const Links links = measure_links(*executable_, tier, 1, kSmall);
  EXPECT_GT(links.offload_bytes_per_s, 1e6);
  EXPECT_GT(links.prefetch_bytes_per_s, 1e6);
  EXPECT_GE(links.offload_slowdown, 1);
  EXPECT_GE(links.prefetch_slowdown, 1);
  EXPECT_GT(links.duplex_share, 0);
  EXPECT_LE(links.duplex_share, 1);
}

TEST_F(LinkProbeTest, KeepsThemByMachineAndTier) {
  FaultyTier first;
  const Links measured = links(first);
  FaultyTier again;
  const Links known = links(again);
  EXPECT_EQ(again.writes() + again.reads(), 0);
  EXPECT_EQ(known.offload_bytes_per_s, measured.offload_bytes_per_s);
  EXPECT_EQ(known.duplex_share, measured.duplex_share);
  const auto content = nlohmann::json::parse(read_file(directory_.path() + "/links.json"));
  EXPECT_THAT(content.begin().key(), ::testing::EndsWith(", " + again.description()));
}

TEST_F(LinkProbeTest, MeasuresAgainWhatTheFileLacks) {
  FaultyTier first;
  links(first);
  auto content = nlohmann::json::parse(read_file(directory_.path() + "/links.json"));
  content.begin().value().erase("duplex_share");
  write_file(directory_.path() + "/links.json", content.dump());
  FaultyTier again;
  links(again);
  EXPECT_GT(again.writes(), 0);
}

TEST_F(LinkProbeTest, WithoutADirectoryMeasuresEveryTime) {
  for (int run = 0; run < 2; ++run) {
    FaultyTier tier;
    cached_links(*executable_, tier, 1, "", kSmall);
    EXPECT_GT(tier.reads(), 0);
  }
}

}  // namespace
}  // namespace vdnn::testing
