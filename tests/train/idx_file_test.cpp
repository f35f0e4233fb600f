#include "train/idx_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "support/error_message.h"
#include "support/file_bytes.h"
#include "support/temporary_directory.h"
#include "vdnn/error.h"

namespace vdnn {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using testing::error_message;
using testing::gzip;
using ::testing::HasSubstr;
using testing::idx_bytes;
using testing::write_file;

class IdxFileTest : public ::testing::Test {
 protected:
  std::string refusal(const std::string& bytes, IdxContent content) {
    write_file(path_, bytes);
    return error_message<StorageError>([&] { read_idx_file(path_, content, ""); });
  }

  testing::TemporaryDirectory directory_{::testing::TempDir()};
  std::string path_ = directory_.path() + "/file";
  std::string labels_ = idx_bytes({5}, {3, 1, 4, 1, 5});
  std::string images_ = idx_bytes({2, 1, 3}, {10, 20, 30, 40, 50, 60});
};

TEST_F(IdxFileTest, ReadsPlainLabels) {
  write_file(path_, labels_);
  const IdxFile file = read_idx_file(path_, IdxContent::labels, "");
  EXPECT_THAT(file.shape, ElementsAre(5));
  EXPECT_THAT(file.bytes, ElementsAre(3, 1, 4, 1, 5));
  EXPECT_EQ(file.path, path_);
}

TEST_F(IdxFileTest, ReadsGzipImages) {
  write_file(path_, gzip(images_));
  const IdxFile file = read_idx_file(path_, IdxContent::images, "");
  EXPECT_THAT(file.shape, ElementsAre(2, 1, 3));
  EXPECT_THAT(file.bytes, ElementsAre(10, 20, 30, 40, 50, 60));
}

TEST_F(IdxFileTest, ReadsRankFourImages) {
  write_file(path_, idx_bytes({1, 3, 1, 2}, {1, 2, 3, 4, 5, 6}));
  EXPECT_THAT(read_idx_file(path_, IdxContent::images, "").shape, ElementsAre(1, 3, 1, 2));
}

TEST_F(IdxFileTest, ReadsFilesLongerThanABlock) {
  std::vector<std::uint8_t> payload(3'000'001);
  for (std::size_t i = 0; i < payload.size(); ++i) payload[i] = static_cast<std::uint8_t>(i * i >> 7);
  write_file(path_, gzip(idx_bytes({static_cast<std::uint32_t>(payload.size())}, payload)));
  EXPECT_EQ(read_idx_file(path_, IdxContent::labels, "").bytes, payload);
}

TEST_F(IdxFileTest, MissingFileNamesPathReasonAndAdvice) {
  const std::string message =
      error_message<StorageError>([&] { read_idx_file(path_, IdxContent::labels, "install it"); });
  EXPECT_EQ(message, "cannot read " + path_ + ": No such file or directory; install it");
}

TEST_F(IdxFileTest, RefusesDirectory) {
  const std::string message =
      error_message<StorageError>([&] { read_idx_file(directory_.path(), IdxContent::labels, ""); });
  EXPECT_EQ(message, directory_.path() + " is not a regular file");
}

TEST_F(IdxFileTest, RefusesEveryTruncationOfPlainFile) {
  for (std::size_t length = 0; length < images_.size(); ++length) {
    EXPECT_THAT(refusal(images_.substr(0, length), IdxContent::images),
                AllOf(HasSubstr(path_), HasSubstr("ends after")))
        << length;
  }
}

TEST_F(IdxFileTest, RefusesEveryTruncationOfGzipFile) {
  const std::string packed = gzip(images_);
  for (std::size_t length = 0; length < packed.size(); ++length) {
    EXPECT_THAT(refusal(packed.substr(0, length), IdxContent::images), HasSubstr(path_)) << length;
  }
}

TEST_F(IdxFileTest, TruncationTellsBytesPresentAndWanted) {
  EXPECT_THAT(refusal(images_.substr(0, images_.size() - 2), IdxContent::images),
              HasSubstr("ends after 4 of 6 bytes of data"));
  EXPECT_THAT(refusal(images_.substr(0, 9), IdxContent::images),
              HasSubstr("ends after 9 of the 16 bytes of its header"));
}

TEST_F(IdxFileTest, RefusesEveryChangedHeaderByte) {
  for (std::size_t at = 0; at < 16; ++at) {
    for (const int mask : {0x01, 0x02, 0x80, 0xFF}) {
      std::string bytes = images_;
      bytes[at] = static_cast<char>(bytes[at] ^ mask);
      EXPECT_THAT(refusal(bytes, IdxContent::images), HasSubstr(path_)) << at << " ^ " << mask;
    }
  }
}

TEST_F(IdxFileTest, RefusesTrailingByte) {
  EXPECT_THAT(refusal(labels_ + 'x', IdxContent::labels), HasSubstr("goes on after the 5 bytes of data"));
  EXPECT_THAT(refusal(gzip(labels_ + 'x'), IdxContent::labels), HasSubstr("goes on after the 5 bytes"));
}

TEST_F(IdxFileTest, NamesElementTypeItCannotRead) {
  std::string bytes = labels_;
  bytes[2] = 0x0D;
  EXPECT_THAT(refusal(bytes, IdxContent::labels),
              AllOf(HasSubstr("type 0x0d (float)"), HasSubstr("only unsigned bytes (0x08)")));
}

TEST_F(IdxFileTest, RefusesOtherFormatsByTheirFirstBytes) {
  EXPECT_THAT(refusal("PNG or whatever", IdxContent::images), HasSubstr("starts with 50 4e, not with 00 00"));
}

TEST_F(IdxFileTest, RefusesFilesInTheWrongOrder) {
  EXPECT_THAT(refusal(images_, IdxContent::labels), HasSubstr("has rank 3, but labels have rank 1"));
  EXPECT_THAT(refusal(labels_, IdxContent::images), HasSubstr("has rank 1, but images have rank 3"));
}

TEST_F(IdxFileTest, RefusesEmptyDimension) {
  EXPECT_THAT(refusal(idx_bytes({2, 0, 3}, {}), IdxContent::images), HasSubstr("dimension 1 is 0"));
}

TEST_F(IdxFileTest, RefusesDimensionsThatOverflow) {
  const std::string bytes = idx_bytes({0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF}, {1, 2, 3});
  EXPECT_THAT(refusal(bytes, IdxContent::images),
              HasSubstr("4294967295 x 4294967295 x 4294967295 bytes, more than a file of 19 bytes can hold"));
}

TEST_F(IdxFileTest, RefusesAtOnceWhatNoGzipFileOfItsSizeCanHold) {
  EXPECT_THAT(refusal(gzip(idx_bytes({1'000'000}, {1, 2, 3})), IdxContent::labels),
              HasSubstr("states 1000000 bytes, more than a file of"));
}

TEST_F(IdxFileTest, ChangedBytesOfGzipFileAreNoticedOrHarmless) {
  const std::string packed = gzip(images_);
  const std::vector<std::uint8_t> payload(images_.begin() + 16, images_.end());
  for (std::size_t at = 0; at < packed.size(); ++at) {
    std::string bytes = packed;
    bytes[at] = static_cast<char>(bytes[at] ^ 0xFF);
    const bool described_only = at >= 4 && at <= 9;  // time, flags for people, operating system
    if (described_only) {
      write_file(path_, bytes);
      EXPECT_EQ(read_idx_file(path_, IdxContent::images, "").bytes, payload) << at;
    } else {
      EXPECT_THAT(refusal(bytes, IdxContent::images), HasSubstr(path_)) << at;
    }
  }
}

TEST_F(IdxFileTest, WrongChecksumIsCalledCorrupt) {
  std::string packed = gzip(images_);
  packed[packed.size() - 8] = static_cast<char>(packed[packed.size() - 8] ^ 1);
  EXPECT_THAT(refusal(packed, IdxContent::images),
              AllOf(HasSubstr("gzip data is corrupt"), HasSubstr("incorrect data check")));
}

RC_GTEST_FIXTURE_PROP(IdxFileTest, ReadsBackWhatWasWritten, ()) {
  const auto payload = *rc::gen::nonEmpty(rc::gen::arbitrary<std::vector<std::uint8_t>>());
  const std::string bytes = idx_bytes({static_cast<std::uint32_t>(payload.size()), 1, 1}, payload);
  write_file(path_, *rc::gen::arbitrary<bool>() ? gzip(bytes) : bytes);
  RC_ASSERT(read_idx_file(path_, IdxContent::images, "").bytes == payload);
}

RC_GTEST_FIXTURE_PROP(IdxFileTest, ArbitraryBytesAreReadOrRefused, ()) {
  std::string bytes = *rc::gen::arbitrary<bool>() ? labels_ : gzip(labels_);
  const auto changes = *rc::gen::arbitrary<std::vector<std::pair<std::uint16_t, char>>>();
  for (const auto& [at, byte] : changes) bytes[at % bytes.size()] = byte;
  write_file(path_, bytes);
  try {
    const IdxFile file = read_idx_file(path_, IdxContent::labels, "");
    RC_ASSERT(file.shape.size() == 1U);
    RC_ASSERT(file.shape[0] == static_cast<std::int64_t>(file.bytes.size()));
  } catch (const StorageError&) {
  }
}

}  // namespace
}  // namespace vdnn
