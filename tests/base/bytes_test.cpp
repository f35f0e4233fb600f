#include "vdnn/bytes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

#include "support/error_message.h"
#include "vdnn/error.h"

namespace vdnn::testing {
namespace {

TEST(ParseBytes, ReadsUnitsOf1024And1000) {
  EXPECT_EQ(parse_bytes("4096"), 4096);
  EXPECT_EQ(parse_bytes("1B"), 1);
  EXPECT_EQ(parse_bytes("2GiB"), 2 * kGiB);
  EXPECT_EQ(parse_bytes("2G"), 2 * kGiB);
  EXPECT_EQ(parse_bytes("1.5g"), 3 * kGiB / 2);
  EXPECT_EQ(parse_bytes("300MB"), 300'000'000);
  EXPECT_EQ(parse_bytes("64 mib"), 64 * kMiB);
  EXPECT_EQ(parse_bytes("1T"), 1024 * kGiB);
  EXPECT_EQ(parse_bytes("0.5K"), 512);
}

TEST(ParseBytes, RefusesWhatIsNoSize) {
  for (const char* text :
       {"", "abc", "-1", "-1GiB", "1.2.3", "1PB", "GiB", "nan", "inf", "1e3", "0x10", "1 2"}) {
    EXPECT_THAT(error_message<UsageError>([&] { parse_bytes(text); }),
                ::testing::HasSubstr("'" + std::string(text) + "'"));
  }
}

TEST(ParseBytes, RefusesNothingAndMoreThanThereIs) {
  for (const char* text : {"0", "0GiB", "0.4", "9300000000000000000", "99999999TiB"}) {
    EXPECT_THROW(parse_bytes(text), UsageError) << text;
  }
}

TEST(FormatBytes, HasThreeDigits) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(999), "999 B");
  EXPECT_EQ(format_bytes(1000), "0.98 KiB");
  EXPECT_EQ(format_bytes(1024), "1.00 KiB");
  EXPECT_EQ(format_bytes(10 * kMiB), "10.0 MiB");
  EXPECT_EQ(format_bytes(5 * kGiB / 4), "1.25 GiB");
  EXPECT_EQ(format_bytes(500 * kGiB), "500 GiB");
  EXPECT_EQ(format_bytes(1023 * kMiB), "1.00 GiB");
}

TEST(CheckedMultiply, RefusesWhatOverflows) {
  EXPECT_EQ(checked_multiply(3, 5, "x"), 15);
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(checked_multiply(most, 1, "x"), most);
  EXPECT_THAT(error_message<UsageError>([&] { checked_multiply(most / 2 + 1, 2, "the batch"); }),
              ::testing::HasSubstr("the batch"));
}

TEST(RoundUp, IsTheNextMultiple) {
  EXPECT_EQ(round_up(0, 64), 0);
  EXPECT_EQ(round_up(1, 64), 64);
  EXPECT_EQ(round_up(64, 64), 64);
  EXPECT_EQ(round_up(65, 64), 128);
}

}  // namespace
}  // namespace vdnn::testing
