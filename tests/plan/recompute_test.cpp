#include "plan/recompute.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "plan/sample_network.h"
#include "plan/verify_versions.h"

namespace vdnn::testing {
namespace {

class ChainsOfTheSample : public ::testing::Test {
 protected:
  [[nodiscard]] BufferId buffer(std::string_view name) const {
    for (std::size_t b = 0; b < program_.buffers.size(); ++b) {
      if (program_.buffers[b].name == name) return BufferId(b);
    }
    return {};
  }
  // The longest gap of a buffer.
  [[nodiscard]] Gap gap(std::string_view name) const {
    Gap longest;
    for (const auto& one : gaps_.all) {
      if (one.buffer == buffer(name) && one.to - one.from > longest.to - longest.from) longest = one;
    }
    return longest;
  }
  [[nodiscard]] std::vector<std::string> kernels(std::string_view name) const {
    const auto chain = finder_.find(gap(name));
    std::vector<std::string> names;
    for (const auto kernel : chain ? chain->kernels : std::vector<KernelId>{})
      names.push_back(program_.kernel(kernel).name);
    return names;
  }

  Program program_ = lowered(sample_network());
  Launches launches_ = each_once(program_);
  Uses uses_ = find_uses(program_, launches_);
  Gaps gaps_ = find_gaps(program_, uses_, static_cast<std::int32_t>(launches_.size()));
  ChainFinder finder_{program_, launches_, uses_};
};

TEST_F(ChainsOfTheSample, AMapIsMadeByTheKernelsThatMadeIt) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(kernels("pool"), Names{"pool"});
  EXPECT_EQ(kernels("conv1"), (Names{"conv1", "relu1"}));  // in place
  const auto pool = finder_.find(gap("pool"));
  ASSERT_TRUE(pool);
  EXPECT_NE(std::find(pool->inputs.begin(), pool->inputs.end(), buffer("conv2")), pool->inputs.end());
}

TEST_F(ChainsOfTheSample, NothingIsLoadedAgain) {
  ASSERT_TRUE(gap("images").buffer.valid());
  EXPECT_TRUE(kernels("images").empty());
}

TEST_F(ChainsOfTheSample, WeightsAreNotMadeAnew) {
  ASSERT_TRUE(gap("fc.weight").buffer.valid());
  EXPECT_TRUE(kernels("fc.weight").empty());
}

// Replays launches by what each kernel must find and leaves; names the first that does not find it.
std::string replay(const Program& program, const Launches& launches) {
  const auto versions = find_versions(program);
  std::vector<std::int64_t> held(program.buffers.size(), 0);
  for (const auto launch : launches) {
    const Kernel& kernel = program.kernel(launch);
    for (const auto& read : versions.of_kernel[launch.index()].reads) {
      if (held[read.buffer.index()] != read.version)
        return kernel.name + " reads " + program.buffer(read.buffer).name;
    }
    for (const auto& write : versions.of_kernel[launch.index()].writes) {
      auto& now = held[write.buffer.index()];
      const bool begins = write.version == 1 && !program.buffer(write.buffer).persistent;
      if (!begins && now != write.version - 1)
        return kernel.name + " changes " + program.buffer(write.buffer).name;
      now = write.version;
    }
  }
  for (std::size_t b = 0; b < held.size(); ++b) {
    const Buffer& buffer = program.buffers[b];
    if ((buffer.persistent || buffer.result) && held[b] != versions.last[b])
      return buffer.name + " ends with another value";
  }
  return "";
}

TEST(ChainFinder, EveryChainLeavesEveryKernelWhatItNeeds) {
  std::size_t chains = 0;
  std::size_t long_ones = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Program program = random_program(seed);
    const Launches once = each_once(program);
    ASSERT_EQ(replay(program, once), "");
    const Uses uses = find_uses(program, once);
    const ChainFinder finder(program, once, uses);
    for (const auto& gap : find_gaps(program, uses, static_cast<std::int32_t>(once.size())).all) {
      const auto chain = finder.find(gap);
      if (!chain) continue;
      ++chains;
      long_ones += chain->kernels.size() > 2 ? 1 : 0;
      EXPECT_LE(chain->kernels.size(), ChainFinder::kMostKernels);
      Launches launches = once;
      launches.insert(launches.begin() + gap.to, chain->kernels.begin(), chain->kernels.end());
      EXPECT_EQ(replay(program, launches), "") << "seed " << seed << ", " << program.buffer(gap.buffer).name;
      // The buffer is free meanwhile: its value is made from its beginning.
      const auto again = find_uses(program, launches)[gap.buffer.index()];
      EXPECT_TRUE(std::any_of(again.begin(), again.end(),
                              [&](const Use& use) { return use.restarts && use.launch >= gap.to; }));
    }
  }
  EXPECT_GT(chains, 200U);
  EXPECT_GT(long_ones, 0U);
}

}  // namespace
}  // namespace vdnn::testing
