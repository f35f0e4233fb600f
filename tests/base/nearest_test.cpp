#include "base/nearest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace vdnn::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

const std::vector<std::string> kKnown = {"vgg-16", "vgg-116", "alexnet", "googlenet"};

TEST(Suggest, NamesTheNearest) {
  EXPECT_THAT(suggest("vgg16", kKnown), AllOf(HasSubstr("'vgg-16'"), Not(HasSubstr("alexnet"))));
  EXPECT_THAT(suggest("alexnt", kKnown), AllOf(HasSubstr("'alexnet'"), Not(HasSubstr("vgg"))));
  EXPECT_THAT(suggest("GoogLeNet", kKnown), HasSubstr("googlenet"));
}

TEST(Suggest, ListsAllWhereNothingIsNear) {
  const std::string text = suggest("transformer", kKnown);
  for (const auto& name : kKnown) EXPECT_THAT(text, HasSubstr(name));
}

}  // namespace
}  // namespace vdnn::testing
