#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <memory>
#include <ostream>
#include <random>
#include <string>
#include <thread>

#include "tier/aligned_bytes.h"
#include "vdnn/error.h"
#include "vdnn/tier.h"

// What every Tier promises. A test file names its tiers:
//   INSTANTIATE_TEST_SUITE_P(Memory, TierConformance, ::testing::Values(TierCase{"memory", make}),
//   tier_name);
namespace vdnn::testing {

struct TierCase {
  std::string name;
  std::function<std::unique_ptr<Tier>()> make;

  friend std::ostream& operator<<(std::ostream& out, const TierCase& tier) { return out << tier.name; }
};

inline std::string tier_name(const ::testing::TestParamInfo<TierCase>& info) {
  return info.param.name;
}

class TierConformance : public ::testing::TestWithParam<TierCase> {
 protected:
  static constexpr std::int64_t kReservedBytes = std::int64_t{8} << 20;

  void SetUp() override {
    tier_ = GetParam().make();
    granule_ = tier_->granule_bytes();
    tier_->reserve(kReservedBytes);
  }

  void expect_round_trip(std::int64_t offset_bytes, std::int64_t size_bytes, std::uint64_t seed) {
    AlignedBytes source = random_bytes(size_bytes, seed);
    AlignedBytes destination(size_bytes);
    tier_->write(offset_bytes, source.span());
    tier_->read(offset_bytes, destination.span());
    EXPECT_TRUE(source == destination) << size_bytes << " bytes at offset " << offset_bytes;
  }

  std::unique_ptr<Tier> tier_;
  std::int64_t granule_ = 0;
};

TEST_P(TierConformance, DescribesItselfAndHasAGranule) {
  EXPECT_FALSE(tier_->description().empty());
  EXPECT_GE(granule_, 64);
  EXPECT_EQ(granule_ & (granule_ - 1), 0) << "a power of two";
}

TEST_P(TierConformance, GivesBackWhatWasWrittenAtRandomOffsetsAndSizes) {
  std::mt19937_64 random(7);
  const std::int64_t granules = kReservedBytes / granule_;
  for (std::uint64_t round = 0; round < 24; ++round) {
    const std::int64_t first = std::uniform_int_distribution<std::int64_t>(0, granules - 1)(random);
    const std::int64_t most = std::min(granules - first, (std::int64_t{3} << 20) / granule_);
    const std::int64_t count = std::uniform_int_distribution<std::int64_t>(1, most)(random);
    expect_round_trip(first * granule_, count * granule_, round);
  }
}

TEST_P(TierConformance, WritesTouchNothingBesideTheirRange) {
  AlignedBytes before = random_bytes(kReservedBytes, 1);
  tier_->write(0, before.span());
  const std::int64_t offset = (std::int64_t{1} << 20) - granule_;
  const std::int64_t size = (std::int64_t{2} << 20) + 3 * granule_;
  AlignedBytes change = random_bytes(size, 2);
  tier_->write(offset, change.span());
  std::copy(change.span().begin(), change.span().end(), before.span(offset, size).begin());
  AlignedBytes after(kReservedBytes);
  tier_->read(0, after.span());
  EXPECT_TRUE(before == after);
}

TEST_P(TierConformance, OneThreadWritesWhileAnotherReads) {
  constexpr std::int64_t kBlockBytes = kReservedBytes / 4;
  AlignedBytes kept = random_bytes(kBlockBytes, 1);
  tier_->write(0, kept.span());
  AlignedBytes written = random_bytes(3 * kBlockBytes, 2);
  std::thread writer([&] {
    for (std::int64_t block = 0; block < 3; ++block) {
      tier_->write((block + 1) * kBlockBytes, written.span(block * kBlockBytes, kBlockBytes));
    }
  });
  int right_reads = 0;
  for (int round = 0; round < 4; ++round) {
    AlignedBytes seen(kBlockBytes);
    tier_->read(0, seen.span());
    if (seen == kept) ++right_reads;
  }
  writer.join();
  EXPECT_EQ(right_reads, 4);
  AlignedBytes seen(3 * kBlockBytes);
  tier_->read(kBlockBytes, seen.span());
  EXPECT_TRUE(seen == written);
}

TEST_P(TierConformance, RefusesRangesThatWereNotReservedAndStaysUsable) {
  AlignedBytes memory(kReservedBytes + granule_);
  const auto refused = [&](std::int64_t offset, std::int64_t size) {
    EXPECT_THROW(tier_->write(offset, memory.span(0, size)), StorageError) << offset << " + " << size;
    EXPECT_THROW(tier_->read(offset, memory.span(0, size)), StorageError) << offset << " + " << size;
  };
  refused(kReservedBytes, granule_);
  refused(kReservedBytes - granule_, 2 * granule_);
  refused(0, kReservedBytes + granule_);
  refused(-granule_, granule_);
  refused(std::numeric_limits<std::int64_t>::max() / granule_ * granule_, granule_);
  refused(std::numeric_limits<std::int64_t>::min(), granule_);
  refused(kReservedBytes + granule_, 0);
  expect_round_trip(kReservedBytes - granule_, granule_, 3);
}

TEST_P(TierConformance, RefusesWhatIsNotAMultipleOfTheGranuleAndStaysUsable) {
  AlignedBytes memory(4 * granule_);
  const auto refused = [&](std::int64_t offset, std::int64_t memory_offset, std::int64_t size) {
    EXPECT_THROW(tier_->write(offset, memory.span(memory_offset, size)), StorageError);
    EXPECT_THROW(tier_->read(offset, memory.span(memory_offset, size)), StorageError);
  };
  refused(1, 0, granule_);
  refused(granule_ / 2, 0, granule_);
  refused(0, 1, granule_);
  refused(0, granule_ / 2, granule_);
  refused(0, 0, granule_ - 1);
  refused(0, 0, granule_ + granule_ / 2);
  expect_round_trip(granule_, 3 * granule_, 4);
}

TEST_P(TierConformance, NothingIsMovedForAnEmptyRange) {
  EXPECT_NO_THROW(tier_->write(kReservedBytes, {}));
  EXPECT_NO_THROW(tier_->read(0, {}));
}

TEST_P(TierConformance, NothingIsUsableBeforeReserve) {
  const auto fresh = GetParam().make();
  AlignedBytes memory(granule_);
  EXPECT_THROW(fresh->write(0, memory.span()), StorageError);
  EXPECT_THROW(fresh->read(0, memory.span()), StorageError);
}

TEST_P(TierConformance, ReserveAgainGrowsAndKeepsWhatIsThere) {
  AlignedBytes kept = random_bytes(kReservedBytes, 5);
  tier_->write(0, kept.span());
  tier_->reserve(kReservedBytes + (std::int64_t{1} << 20) + granule_);
  expect_round_trip(kReservedBytes, (std::int64_t{1} << 20) + granule_, 6);
  tier_->reserve(granule_);
  AlignedBytes seen(kReservedBytes);
  tier_->read(0, seen.span());
  EXPECT_TRUE(seen == kept);
}

TEST_P(TierConformance, ReservesSizesBetweenTwoGranules) {
  const auto fresh = GetParam().make();
  fresh->reserve(2 * granule_ + 1);
  AlignedBytes memory(3 * granule_);
  EXPECT_NO_THROW(fresh->write(0, memory.span(0, 2 * granule_)));
  EXPECT_THROW(fresh->write(0, memory.span()), StorageError);
}

TEST_P(TierConformance, RefusesImpossibleReservationsAndStaysUsable) {
  EXPECT_THROW(tier_->reserve(-1), StorageError);
  EXPECT_THROW(tier_->reserve(std::int64_t{1} << 50), StorageError);
  EXPECT_THROW(tier_->reserve(std::numeric_limits<std::int64_t>::max()), StorageError);
  expect_round_trip(kReservedBytes - granule_, granule_, 8);
}

}  // namespace vdnn::testing
