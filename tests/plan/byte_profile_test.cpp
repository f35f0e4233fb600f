#include "plan/byte_profile.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

namespace vdnn {
namespace {

// Against a plain list, after every addition.
RC_GTEST_PROP(ByteProfile, AnswersAsAPlainListDoes, ()) {
  auto bytes = *rc::gen::nonEmpty(
      rc::gen::container<std::vector<std::int64_t>>(rc::gen::inRange<std::int64_t>(-50, 50)));
  const auto size = static_cast<std::int32_t>(bytes.size());
  ByteProfile profile(bytes);
  const int additions = *rc::gen::inRange(0, 8);
  for (int i = 0; i <= additions; ++i) {
    const auto begin = *rc::gen::inRange<std::int32_t>(0, size);
    const auto end = *rc::gen::inRange<std::int32_t>(begin, size + 1);
    const auto limit = *rc::gen::inRange<std::int64_t>(-60, 60);
    const auto cap = *rc::gen::inRange<std::int64_t>(0, 40);
    double sum = 0;
    std::int64_t most = begin < end ? INT64_MIN : 0;
    for (auto k = begin; k < end; ++k) {
      const auto value = bytes[static_cast<std::size_t>(k)];
      sum += static_cast<double>(std::clamp<std::int64_t>(value - limit, 0, cap));
      most = std::max(most, value);
    }
    RC_ASSERT(profile.clipped_sum(begin, end, limit, cap) == sum);
    RC_ASSERT(profile.most(begin, end) == most);
    const auto above = [&](std::int32_t k) { return bytes[static_cast<std::size_t>(k)] > limit; };
    auto first = begin;
    while (first < end && !above(first)) ++first;
    RC_ASSERT(profile.first_above(begin, end, limit) == first);
    auto past_last = end;
    while (past_last > begin && !above(past_last - 1)) --past_last;
    RC_ASSERT(profile.past_last_above(begin, end, limit) == past_last);
    for (std::int32_t k = 0; k < size; ++k) RC_ASSERT(profile.at(k) == bytes[static_cast<std::size_t>(k)]);
    const auto added = *rc::gen::inRange<std::int64_t>(-30, 30);
    profile.add(begin, end, added);
    for (auto k = begin; k < end; ++k) bytes[static_cast<std::size_t>(k)] += added;
  }
}

TEST(ByteProfile, MayBeEmpty) {
  ByteProfile profile({});
  profile.add(0, 0, 5);
  EXPECT_EQ(profile.most(0, 0), 0);
  EXPECT_EQ(profile.clipped_sum(0, 0, 0, 1), 0);
}

}  // namespace
}  // namespace vdnn
