#include "vdnn/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <bit>
#include <csignal>
#include <nlohmann/json.hpp>
#include <numeric>

#include "support/error_message.h"
#include "support/file_bytes.h"
#include "support/temporary_directory.h"
#include "vdnn/error.h"

namespace vdnn {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using testing::error_message;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::read_file;
using testing::write_file;

std::string safetensors_bytes(const std::string& header, std::size_t data_bytes) {
  const std::uint64_t length = header.size();
  std::string bytes(sizeof(length), '\0');
  for (std::size_t i = 0; i < sizeof(length); ++i) bytes[i] = static_cast<char>(length >> (8 * i));
  return bytes + header + std::string(data_bytes, '\0');
}

std::string one_tensor(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return R"({"a":{"dtype":)" + dtype + R"(,"shape":)" + shape + R"(,"data_offsets":)" + offsets + "}}";
}

class SafetensorsTest : public ::testing::Test {
 protected:
  void write_two_tensors() {
    SafetensorsWriter writer(path_, {{"a", {2, 3}}, {"b.weight", {}}});
    writer.append(std::vector<float>{1, 2, 3, 4, 5, 6, -0.5F});
    writer.finish();
  }

  std::string refusal(const std::string& header, std::size_t data_bytes) {
    write_file(path_, safetensors_bytes(header, data_bytes));
    return error_message<StorageError>([&] { read_safetensors(path_); });
  }

  std::string writer_refusal(const std::vector<TensorHeader>& tensors) {
    return error_message<StorageError>([&] { SafetensorsWriter(path_, tensors); });
  }

  testing::TemporaryDirectory directory_{::testing::TempDir()};
  std::string path_ = directory_.path() + "/model.safetensors";
};

TEST_F(SafetensorsTest, ReadsBackNamesShapesAndValues) {
  write_two_tensors();
  const auto tensors = read_safetensors(path_);
  ASSERT_EQ(tensors.size(), 2U);
  EXPECT_THAT(tensors.at("a").shape, ElementsAre(2, 3));
  EXPECT_THAT(tensors.at("a").values, ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(tensors.at("b.weight").shape, IsEmpty());
  EXPECT_THAT(tensors.at("b.weight").values, ElementsAre(-0.5F));
}

TEST_F(SafetensorsTest, FileHasTheDocumentedLayout) {
  write_two_tensors();
  const std::string bytes = read_file(path_);
  std::uint64_t length = 0;
  for (std::size_t i = 0; i < 8; ++i)
    length |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  EXPECT_EQ(length % 8, 0U);
  ASSERT_EQ(bytes.size(), 8 + length + 28);
  EXPECT_EQ(bytes[8], '{');
  const auto header = nlohmann::json::parse(bytes.substr(8, length));
  EXPECT_EQ(header, nlohmann::json::parse(R"({
    "__metadata__": {"format": "pt"},
    "a": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]},
    "b.weight": {"dtype": "F32", "shape": [], "data_offsets": [24, 28]}})"));
  EXPECT_EQ(bytes.substr(8 + length, 8), std::string("\x00\x00\x80\x3f\x00\x00\x00\x40", 8));
}

TEST_F(SafetensorsTest, KeepsEveryBitOfSpecialValues) {
  const std::vector<std::uint32_t> bits = {0x80000000, 0x7F800000, 0x7FC12345, 0x00000001};
  std::vector<float> values;
  for (const std::uint32_t pattern : bits) values.push_back(std::bit_cast<float>(pattern));
  SafetensorsWriter writer(path_, {{"special", {4}}});
  writer.append(values);
  writer.finish();
  const std::vector<float> read = read_safetensors(path_).at("special").values;
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(std::bit_cast<std::uint32_t>(read[i]), bits[i]) << i;
}

TEST_F(SafetensorsTest, KeepsEmptyTensorsAndFilesWithoutTensors) {
  SafetensorsWriter(path_, {{"empty", {3, 0}}, {"also", {0}}}).finish();
  EXPECT_THAT(read_safetensors(path_).at("empty").shape, ElementsAre(3, 0));
  SafetensorsWriter(path_, {}).finish();
  EXPECT_THAT(read_safetensors(path_), IsEmpty());
}

TEST_F(SafetensorsTest, ValuesBeyondTheBufferArrive) {
  std::vector<float> values(200'003);
  std::iota(values.begin(), values.end(), 0.0F);
  SafetensorsWriter writer(path_, {{"large", {200'003}}});
  writer.append(std::span(values).first(1));
  writer.append(std::span(values).subspan(1, 65'535));
  writer.append(std::span(values).subspan(65'536));
  writer.finish();
  EXPECT_EQ(read_safetensors(path_).at("large").values, values);
}

TEST_F(SafetensorsTest, NothingHasTheNameUntilFinish) {
  SafetensorsWriter writer(path_, {{"a", {1}}});
  writer.append(std::vector<float>{7});
  EXPECT_FALSE(std::filesystem::exists(path_));
  EXPECT_FALSE(directory_.empty());
  writer.finish();
  EXPECT_TRUE(std::filesystem::exists(path_));
}

TEST_F(SafetensorsTest, DestructionWithoutFinishLeavesNothing) {
  { SafetensorsWriter(path_, {{"a", {1}}}).append(std::vector<float>{7}); }
  EXPECT_TRUE(directory_.empty());
}

TEST_F(SafetensorsTest, DestructionWithoutFinishKeepsThePreviousFile) {
  write_two_tensors();
  const std::string before = read_file(path_);
  { SafetensorsWriter(path_, {{"other", {1}}}).append(std::vector<float>{7}); }
  EXPECT_EQ(read_file(path_), before);
}

TEST_F(SafetensorsTest, FinishReplacesThePreviousFileAndLeavesNoOther) {
  write_file(path_, "old");
  write_two_tensors();
  EXPECT_EQ(read_safetensors(path_).size(), 2U);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory_.path()), {}), 1);
}

TEST_F(SafetensorsTest, TwoWritersOfOneNameDoNotMix) {
  SafetensorsWriter first(path_, {{"first", {1}}});
  SafetensorsWriter second(path_, {{"second", {1}}});
  first.append(std::vector<float>{1});
  second.append(std::vector<float>{2});
  first.finish();
  second.finish();
  EXPECT_THAT(read_safetensors(path_).at("second").values, ElementsAre(2));
}

TEST_F(SafetensorsTest, FileIsReadableAsTheUmaskSays) {
  const mode_t before = ::umask(0027);
  write_two_tensors();
  ::umask(before);
  struct stat status = {};
  ASSERT_EQ(::stat(path_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0640U);
}

TEST_F(SafetensorsTest, FinishRefusesMissingValues) {
  SafetensorsWriter writer(path_, {{"a", {3}}});
  writer.append(std::vector<float>{1, 2});
  EXPECT_EQ(error_message<StorageError>([&] { writer.finish(); }),
            "cannot finish " + path_ + ": 8 of the 12 bytes of its tensors were given");
}

TEST_F(SafetensorsTest, AppendRefusesTooManyValuesAndFinishThenRefuses) {
  SafetensorsWriter writer(path_, {{"a", {3}}});
  EXPECT_EQ(error_message<StorageError>([&] {
              writer.append(std::vector<float>{1, 2, 3, 4});
            }),
            "cannot write " + path_ + ": 16 bytes of values given, but its tensors hold 12");
  EXPECT_THAT(error_message<StorageError>([&] { writer.finish(); }), HasSubstr("an earlier write failed"));
}

TEST_F(SafetensorsTest, FinishRefusesToRunTwice) {
  SafetensorsWriter writer(path_, {});
  writer.finish();
  EXPECT_THAT(error_message<StorageError>([&] { writer.finish(); }), HasSubstr("already finished"));
}

TEST_F(SafetensorsTest, WriterRefusesNamesThatCannotBeKeys) {
  EXPECT_THAT(writer_refusal({{"a", {1}}, {"a", {2}}}), HasSubstr("tensor name 'a' is used twice"));
  EXPECT_THAT(writer_refusal({{"", {1}}}), HasSubstr("is empty"));
  EXPECT_THAT(writer_refusal({{"__metadata__", {1}}}), HasSubstr("is reserved"));
  EXPECT_THAT(writer_refusal({{"\xff", {1}}}), HasSubstr("must be UTF-8"));
  EXPECT_TRUE(directory_.empty());
}

TEST_F(SafetensorsTest, WriterRefusesImpossibleShapes) {
  EXPECT_THAT(writer_refusal({{"a", {2, -1}}}), HasSubstr("'a' of shape [2, -1] has no valid size"));
  EXPECT_THAT(writer_refusal({{"a", {1LL << 32, 1LL << 32}}}), HasSubstr("no valid size"));
  EXPECT_THAT(writer_refusal({{"a", {(1LL << 61) - 1}}}), HasSubstr("no valid size"));
  EXPECT_THAT(writer_refusal({{"a", {1LL << 60}}, {"b", {1LL << 60}}}), HasSubstr("'b'"));
}

TEST_F(SafetensorsTest, WriterNamesTheSystemsReasonForAMissingDirectory) {
  path_ = directory_.path() + "/missing/model";
  EXPECT_THAT(writer_refusal({}), AllOf(HasSubstr(path_), HasSubstr("No such file or directory")));
}

TEST_F(SafetensorsTest, WriterRefusesWhatIsNotAFileBeforeAnyWork) {
  std::filesystem::create_directory(path_);
  EXPECT_THAT(writer_refusal({}), HasSubstr("is not a regular file"));
  path_ = "/dev/null";
  EXPECT_THAT(writer_refusal({}), HasSubstr("is not a regular file"));
}

TEST_F(SafetensorsTest, RoomThatIsNotThereIsRefusedAtTheStartAndLeavesNothing) {
  rlimit before = {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small = {.rlim_cur = 4096, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const std::string message = writer_refusal({{"a", {1'000'000}}});
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_THAT(message, AllOf(HasSubstr(path_), HasSubstr("reserving 4000"), HasSubstr("File too large")));
  EXPECT_TRUE(directory_.empty());
}

TEST_F(SafetensorsTest, FailedWriteIsReportedWithOffsetAndLeavesNothing) {
  rlimit before = {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  std::string message;
  {
    SafetensorsWriter writer(path_, {{"a", {100'000}}});
    const rlimit small = {.rlim_cur = 4096, .rlim_max = before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
    message = error_message<StorageError>([&] { writer.append(std::vector<float>(100'000)); });
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
    EXPECT_THAT(error_message<StorageError>([&] { writer.finish(); }), HasSubstr("an earlier write failed"));
  }
  std::signal(SIGXFSZ, handler);
  EXPECT_THAT(message, AllOf(HasSubstr("at offset 4096"), HasSubstr("File too large")));
  EXPECT_TRUE(directory_.empty());
}

TEST_F(SafetensorsTest, ReaderRefusesEveryTruncation) {
  write_two_tensors();
  const std::string bytes = read_file(path_);
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    write_file(path_, bytes.substr(0, length));
    EXPECT_THAT(error_message<StorageError>([&] { read_safetensors(path_); }), HasSubstr(path_)) << length;
  }
}

TEST_F(SafetensorsTest, ReaderRefusesTrailingByte) {
  write_two_tensors();
  write_file(path_, read_file(path_) + 'x');
  EXPECT_THAT(error_message<StorageError>([&] { read_safetensors(path_); }),
              HasSubstr("its tensors end at byte 28 of 29 bytes of data"));
}

TEST_F(SafetensorsTest, ReaderRefusesEveryChangedLengthByte) {
  write_two_tensors();
  const std::string bytes = read_file(path_);
  for (std::size_t at = 0; at < 8; ++at) {
    for (const int mask : {0x01, 0x02, 0x04, 0x08, 0x10, 0x80, 0xFF}) {
      std::string changed = bytes;
      changed[at] = static_cast<char>(changed[at] ^ mask);
      write_file(path_, changed);
      EXPECT_THAT(error_message<StorageError>([&] { read_safetensors(path_); }), HasSubstr(path_)) << at;
    }
  }
}

TEST_F(SafetensorsTest, ReaderRefusesMissingFileWithReason) {
  EXPECT_EQ(error_message<StorageError>([&] { read_safetensors(path_); }),
            "cannot read " + path_ + ": No such file or directory");
}

TEST_F(SafetensorsTest, ReaderRefusesWhatIsNotJson) {
  EXPECT_THAT(refusal("{\"a\":", 0), HasSubstr("not JSON"));
  EXPECT_THAT(refusal("[]", 0), HasSubstr("does not start with '{'"));
  EXPECT_THAT(refusal("", 0), HasSubstr("does not start with '{'"));
  EXPECT_THAT(refusal("{\"\xff\":1}", 0), HasSubstr("not JSON"));
  EXPECT_THAT(refusal(std::string("{\"a\":") + std::string(100'000, '['), 0), HasSubstr("not JSON"));
}

TEST_F(SafetensorsTest, ReaderRefusesRepeatedKeys) {
  const std::string tensor = R"({"dtype":"F32","shape":[0],"data_offsets":[0,0]})";
  EXPECT_THAT(refusal(R"({"a":)" + tensor + R"(,"a":)" + tensor + "}", 0), HasSubstr("the key 'a' twice"));
  EXPECT_THAT(refusal(R"({"a":{"shape":[1],"shape":[0],"dtype":"F32","data_offsets":[0,0]}})", 0),
              HasSubstr("the key 'shape' twice"));
}

TEST_F(SafetensorsTest, ReaderRefusesWrongTypesInTheHeader) {
  EXPECT_THAT(refusal(R"({"a":1})", 0), HasSubstr("'a' is not described by an object"));
  EXPECT_THAT(refusal(R"({"a":{}})", 0), HasSubstr("'a' has no string 'dtype'"));
  EXPECT_THAT(refusal(one_tensor("32", "[1]", "[0,4]"), 4), HasSubstr("no string 'dtype'"));
  EXPECT_THAT(refusal(one_tensor(R"("F16")", "[2]", "[0,4]"), 4), HasSubstr("dtype 'F16', but only F32"));
  EXPECT_THAT(refusal(one_tensor(R"("F32")", "1", "[0,4]"), 4), HasSubstr("no array 'shape'"));
  EXPECT_THAT(refusal(one_tensor(R"("F32")", "[1]", "{}"), 4), HasSubstr("no array 'data_offsets'"));
  for (const char* shape :
       {"[-1]", "[1.0]", "[1e0]", "[\"1\"]", "[null]", "[[1]]", "[true]", "[9223372036854775808]"}) {
    EXPECT_THAT(refusal(one_tensor(R"("F32")", shape, "[0,4]"), 4), HasSubstr("an element of 'shape'"))
        << shape;
  }
  EXPECT_THAT(refusal(R"({"__metadata__":{"x":1}})", 0), HasSubstr("not an object of strings"));
  EXPECT_THAT(refusal(R"({"__metadata__":[]})", 0), HasSubstr("not an object of strings"));
}

TEST_F(SafetensorsTest, ReaderRefusesOffsetsThatAreNoRange) {
  for (const char* offsets : {"[]", "[0]", "[0,4,4]", "[4,0]", "[0,8]", "[0,9223372036854775807]"}) {
    EXPECT_THAT(refusal(one_tensor(R"("F32")", "[1]", offsets), 4),
                HasSubstr("no range within 4 bytes of data"))
        << offsets;
  }
}

TEST_F(SafetensorsTest, ReaderRefusesShapesThatDoNotMatchTheirBytes) {
  EXPECT_THAT(refusal(one_tensor(R"("F32")", "[2]", "[0,4]"), 4), HasSubstr("does not have the 4 bytes"));
  EXPECT_THAT(refusal(one_tensor(R"("F32")", "[4294967296,4294967296]", "[0,0]"), 0),
              HasSubstr("does not have the 0 bytes"));
}

TEST_F(SafetensorsTest, ReaderRefusesOverlapsAndGaps) {
  const auto two = [](const char* second) {
    return std::string(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)") +
           R"("b":{"dtype":"F32","shape":[1],"data_offsets":)" + second + "}}";
  };
  EXPECT_THAT(refusal(two("[4,8]"), 8), HasSubstr("'b' begins at byte 4, which overlaps another tensor"));
  EXPECT_THAT(refusal(two("[0,4]"), 8), HasSubstr("overlaps another tensor"));
  EXPECT_THAT(refusal(two("[12,16]"), 16), HasSubstr("'b' begins at byte 12, which leaves a gap"));
}

TEST_F(SafetensorsTest, ReaderTakesTensorsInAnyOrderWithTrailingSpaces) {
  const std::string header = R"({"z":{"shape":[1],"data_offsets":[0,4],"dtype":"F32"},)"
                             R"("a":{"dtype":"F32","data_offsets":[4,12],"shape":[2]}}     )";
  write_file(path_, safetensors_bytes(header, 12));
  EXPECT_EQ(read_safetensors(path_).at("a").values.size(), 2U);
}

RC_GTEST_FIXTURE_PROP(SafetensorsTest, AnyChunkingGivesTheSameFile, ()) {
  const auto values = *rc::gen::arbitrary<std::vector<float>>();
  const auto count = static_cast<std::int64_t>(values.size());
  const std::int64_t first = *rc::gen::inRange<std::int64_t>(0, count + 1);
  SafetensorsWriter writer(path_, {{"first", {first}}, {"second", {count - first, 1}}});
  std::span<const float> rest = values;
  while (!rest.empty()) {
    const auto chunk = *rc::gen::inRange<std::size_t>(1, rest.size() + 1);
    writer.append({});
    writer.append(rest.first(chunk));
    rest = rest.subspan(chunk);
  }
  writer.finish();
  const auto tensors = read_safetensors(path_);
  std::vector<float> joined = tensors.at("first").values;
  joined.insert(joined.end(), tensors.at("second").values.begin(), tensors.at("second").values.end());
  RC_ASSERT(joined == values);
}

RC_GTEST_FIXTURE_PROP(SafetensorsTest, ChangedHeadersAreReadOrRefused, ()) {
  write_two_tensors();
  std::string bytes = read_file(path_);
  const auto changes = *rc::gen::nonEmpty(rc::gen::arbitrary<std::vector<std::pair<std::uint16_t, char>>>());
  for (const auto& [at, byte] : changes) bytes[at % bytes.size()] = byte;
  write_file(path_, bytes);
  try {
    for (const auto& [name, tensor] : read_safetensors(path_)) RC_ASSERT(tensor.values.size() <= 7U);
  } catch (const StorageError&) {
  }
}

}  // namespace
}  // namespace vdnn
