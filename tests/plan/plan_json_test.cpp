#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "plan/sample_network.h"
#include "support/error_message.h"
#include "vdnn/error.h"

// Whatever a file holds is a plan that can be verified or a ModelError.
namespace vdnn::testing {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const NamedPlan& sample() {
  static const NamedPlan plan(sample_network(), "vdnn-all");
  return plan;
}

std::string sample_json() {
  return to_json(sample().plan());
}

// True where the text is a plan at all. A plan that differs from the sample must survive the verifier.
bool reads(const std::string& text) {
  try {
    const Plan plan = read_plan(text);
    const auto violations = verify_plan(sample().program(), plan);
    if (plan == sample().plan()) {
      EXPECT_THAT(violations, IsEmpty());
    }
    return true;
  } catch (const ModelError&) {
    return false;
  }
}

TEST(PlanJson, P8IsReadBackEqual) {
  EXPECT_EQ(read_plan(sample_json()), sample().plan());
  EXPECT_EQ(to_json(read_plan(sample_json())), sample_json());
}

TEST(PlanJson, P8WhatWouldBeLostWhenWrittenBackIsRefused) {
  json changed = json::parse(sample_json());
  changed["comment"] = "by hand";
  const std::string message = error_message<ModelError>([&] { read_plan(changed.dump()); });
  EXPECT_THAT(message, AllOf(HasSubstr("P8"), HasSubstr("/comment")));
}

TEST(PlanJson, KeepsAllSixtyFourBitsOfTheFingerprint) {
  Plan plan = sample().plan();
  for (const std::uint64_t print : {std::uint64_t{0}, std::uint64_t{1}, UINT64_MAX}) {
    plan.program_fingerprint = print;
    EXPECT_EQ(read_plan(to_json(plan)).program_fingerprint, print);
  }
}

TEST(PlanJson, EveryTruncationIsAModelError) {
  const std::string text = sample_json();
  for (std::size_t size = 0; size < text.size(); ++size) EXPECT_FALSE(reads(text.substr(0, size))) << size;
}

TEST(PlanJson, NoChangedByteCrashes) {
  const std::string text = sample_json();
  int plans = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    for (const char byte : {'"', '-', '9', '}'}) {
      std::string changed = text;
      changed[i] = byte;
      plans += reads(changed) ? 1 : 0;
    }
  }
  EXPECT_GE(plans, 1000) << "digits that become other digits are plans";
}

TEST(PlanJson, NoRemovedByteCrashes) {
  const std::string text = sample_json();
  for (std::size_t i = 0; i < text.size(); ++i) reads(std::string(text).erase(i, 1));
}

TEST(PlanJson, NoInsertedDigitCrashes) {
  const std::string text = sample_json();
  for (std::size_t i = 0; i < text.size(); ++i) {
    reads(std::string(text).insert(i, "999999999999999999"));
  }
}

// Every value of the document in turn becomes something of another kind, or absurd.
void change_values(json& document, json& value, const json& by) {
  if (value.is_structured()) {
    for (auto& child : value) change_values(document, child, by);
  }
  json old = by;
  std::swap(old, value);
  reads(document.dump());
  std::swap(old, value);
}

TEST(PlanJson, NoNonsenseValueCrashes) {
  json document = json::parse(sample_json());
  for (const json& by : {json(), json(true), json("x"), json(-1), json(INT64_MAX), json(INT64_MIN),
                         json(1e300), json(UINT64_MAX), json::array(), json::object()}) {
    change_values(document, document, by);
  }
}

TEST(PlanJson, EveryMissingMemberIsAModelError) {
  const json document = json::parse(sample_json());
  for (const auto& [key, value] : document.items()) {
    json without = document;
    without.erase(key);
    EXPECT_FALSE(reads(without.dump())) << key;
  }
}

TEST(PlanJson, TextThatIsNoPlanIsAModelError) {
  for (const auto* text : {"", "null", "[]", "{}", "1", "\"plan\"", "{\"vdnn_plan\": 3}", "not json"}) {
    EXPECT_THROW(read_plan(text), ModelError) << text;
  }
  EXPECT_THROW(read_plan(std::string(1'000'000, '[')), ModelError);
}

void expect_refused(const std::string& key, const json& value, const std::string& message) {
  json document = json::parse(sample_json());
  document[json::json_pointer(key)] = value;
  try {
    read_plan(document.dump());
    FAIL() << key << " accepted";
  } catch (const ModelError& error) {
    EXPECT_THAT(error.what(), HasSubstr(message));
  }
}

TEST(PlanJson, AnotherFormatIsRefusedByNumber) {
  expect_refused("/vdnn_plan", 1, "format 1");
}
TEST(PlanJson, AnUnknownAlgorithmsIsRefused) {
  expect_refused("/algorithms", "fast", "fast");
}
TEST(PlanJson, AnUnknownStepIsRefused) {
  expect_refused("/steps/0/do", "jump", "jump");
}
TEST(PlanJson, ANegativeIndexIsRefused) {
  expect_refused("/steps/0/kernel", -1, "-1");
}
TEST(PlanJson, AnIndexAbove31BitsIsRefused) {
  expect_refused("/steps/0/kernel", 4294967296, "4294967296");
}
TEST(PlanJson, AFingerprintThatIsNotHexIsRefused) {
  expect_refused("/program_fingerprint", "0x12", "0x12");
}

// Numbers that another type cannot hold must not turn into others silently.
TEST(PlanJson, NumbersThatDoNotFitAreRefused) {
  expect_refused("/steps/0/waits", json::array({4294967296}), "4294967296");
  expect_refused("/assignment/0", 4294967296, "4294967296");
  expect_refused("/peak_bytes", 1.5, "1.5");
  expect_refused("/peak_bytes", UINT64_MAX, "18446744073709551615");
  expect_refused("/peak_bytes", true, "true");
}

}  // namespace
}  // namespace vdnn::testing
