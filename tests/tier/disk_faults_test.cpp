#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <ostream>
#include <string>

#include "tier/aligned_bytes.h"
#include "tier/chunked_transfer.h"
#include "tier/disk_tier.h"
#include "tier/faulty_queue.h"
#include "vdnn/error.h"

namespace vdnn::testing {
namespace {

constexpr std::int64_t kGranuleBytes = FaultyQueue::kGranuleBytes;
constexpr std::int64_t kOffsetBytes = 3 * kGranuleBytes;
constexpr std::int64_t kFewChunks = 4;  // whole ones; a last one of a granule follows
constexpr std::int64_t kManyChunks = 18;

constexpr std::int64_t bytes_of(std::int64_t chunks) {
  return chunks * kTransferChunkBytes + kGranuleBytes;
}

struct Method {
  const char* name;
  bool allow_io_uring;
  bool allow_direct;

  friend std::ostream& operator<<(std::ostream& out, const Method& method) { return out << method.name; }
};

// Each way of transfer, with a fault in front of the system calls.
class DiskFaults : public ::testing::TestWithParam<Method> {
 protected:
  void SetUp() override {
    SpillFile file = SpillFile::open("/var/tmp", GetParam().allow_direct);
    fd_ = file.fd();
    std::string method;
    auto writes = std::make_unique<FaultyQueue>(open_request_queue(file, GetParam().allow_io_uring, method));
    auto reads = std::make_unique<FaultyQueue>(open_request_queue(file, GetParam().allow_io_uring, method));
    queues_[0] = writes.get();
    queues_[1] = reads.get();
    tier_ = std::make_unique<DiskTier>(std::move(file), std::move(writes), std::move(reads), method);
    tier_->reserve(kOffsetBytes + bytes_of(kManyChunks));
  }

  FaultyQueue& queue(Direction direction) { return *queues_[direction == Direction::kWrite ? 0 : 1]; }

  // What a write and a read of `source` give when the queue of one direction is armed.
  void expect_right_data(AlignedBytes& source, Direction faulty, Fault fault, int index) {
    const auto size = static_cast<std::int64_t>(source.span().size());
    AlignedBytes seen(size);
    queue(faulty).arm(fault, index);
    tier_->write(kOffsetBytes, source.span());
    tier_->read(kOffsetBytes, seen.span());
    queue(faulty).disarm();
    EXPECT_TRUE(seen == source) << "request " << index;
  }

  std::string error_of(AlignedBytes& memory, Direction faulty, Fault fault, int index, int times = 1) {
    queue(faulty).arm(fault, index, times);
    std::string text = "no error";
    try {
      if (faulty == Direction::kWrite) {
        tier_->write(kOffsetBytes, memory.span());
      } else {
        tier_->read(kOffsetBytes, memory.span());
      }
    } catch (const StorageError& error) {
      text = error.what();
    }
    queue(faulty).disarm();
    EXPECT_EQ(queue(faulty).in_flight(), 0) << "drained before the error is thrown";
    return text;
  }

  static std::string expected_error(Direction direction, std::int64_t index, std::int64_t chunks,
                                    const std::string& reason) {
    const std::int64_t at = index * kTransferChunkBytes;
    const std::int64_t size = std::min(kTransferChunkBytes, bytes_of(chunks) - at);
    return std::string("cannot ") + (direction == Direction::kWrite ? "write " : "read ") +
           std::to_string(size) + " bytes at offset " + std::to_string(kOffsetBytes + at) +
           " of the spill file in '/var/tmp': " + reason +
           "; check the disk or name another directory with --spill DIR";
  }

  void expect_errors_at_every_request(std::int64_t chunks, Direction direction, Fault fault,
                                      const std::string& reason) {
    AlignedBytes memory(bytes_of(chunks));
    for (int index = 0; index <= chunks; ++index) {
      EXPECT_EQ(error_of(memory, direction, fault, index), expected_error(direction, index, chunks, reason));
    }
    AlignedBytes source = random_bytes(bytes_of(chunks), 2);
    AlignedBytes seen(bytes_of(chunks));
    tier_->write(kOffsetBytes, source.span());
    tier_->read(kOffsetBytes, seen.span());
    EXPECT_TRUE(seen == source) << "usable after the errors";
  }

  void expect_right_data_at_every_request(Fault fault, int extra_requests_expected) {
    AlignedBytes source = random_bytes(bytes_of(kFewChunks), 1);
    for (const Direction direction : {Direction::kWrite, Direction::kRead}) {
      for (int index = 0; index <= kFewChunks; ++index) {
        AlignedBytes nothing(bytes_of(kFewChunks));
        tier_->write(kOffsetBytes, nothing.span());
        expect_right_data(source, direction, fault, index);
        // The last chunk is one granule, which cannot move by halves.
        const bool whole = fault == Fault::kStopsAtGranule && index == kFewChunks;
        EXPECT_EQ(queue(direction).requests(), kFewChunks + 1 + (whole ? 0 : extra_requests_expected));
      }
    }
  }

  int fd_ = -1;
  FaultyQueue* queues_[2] = {};
  std::unique_ptr<DiskTier> tier_;
};

TEST_P(DiskFaults, ShortTransfersGoOnWhereTheyStopped) {
  expect_right_data_at_every_request(Fault::kStopsAtGranule, 1);
}

TEST_P(DiskFaults, ShortTransfersWithinAGranuleRepeatIt) {
  expect_right_data_at_every_request(Fault::kStopsInGranule, 1);
}

TEST_P(DiskFaults, ShortTransfersBelowAGranuleAreRepeated) {
  expect_right_data_at_every_request(Fault::kStopsBeforeFirst, 1);
}

TEST_P(DiskFaults, InterruptedTransfersAreRepeated) {
  expect_right_data_at_every_request(Fault::kEintr, 1);
}

TEST_P(DiskFaults, TransfersRefusedForTheMomentAreRepeated) {
  expect_right_data_at_every_request(Fault::kEagain, 1);
}

TEST_P(DiskFaults, AFailingDiskIsReportedWhicheverRequestMeetsIt) {
  for (const Direction direction : {Direction::kWrite, Direction::kRead}) {
    expect_errors_at_every_request(kFewChunks, direction, Fault::kEio, "Input/output error");
  }
}

TEST_P(DiskFaults, AFailingDiskIsReportedWithTheQueueFull) {
  for (const Direction direction : {Direction::kWrite, Direction::kRead}) {
    expect_errors_at_every_request(kManyChunks, direction, Fault::kEio, "Input/output error");
  }
}

TEST_P(DiskFaults, AFullDiskIsReportedWhicheverRequestMeetsIt) {
  expect_errors_at_every_request(kFewChunks, Direction::kWrite, Fault::kEnospc, "No space left on device");
}

TEST_P(DiskFaults, ReadingNothingIsTheEndOfTheFile) {
  expect_errors_at_every_request(kFewChunks, Direction::kRead, Fault::kMovesNothing,
                                 "unexpected end of file");
}

TEST_P(DiskFaults, WhatNeverSucceedsIsAnErrorNotAHang) {
  AlignedBytes memory(kTransferChunkBytes);
  for (const Direction direction : {Direction::kWrite, Direction::kRead}) {
    const auto error = [&](Fault fault) { return error_of(memory, direction, fault, 0, 1000000); };
    EXPECT_NE(error(Fault::kEintr).find("Interrupted system call, 100 times in a row"), std::string::npos);
    EXPECT_NE(error(Fault::kEagain).find("Resource temporarily unavailable, 100 times in a row"),
              std::string::npos);
    EXPECT_NE(error(Fault::kStopsBeforeFirst).find("only 904 bytes moved, 100 times in a row"),
              std::string::npos);
  }
  EXPECT_NE(error_of(memory, Direction::kWrite, Fault::kMovesNothing, 0, 1000000)
                .find("only 0 bytes moved, 100 times in a row"),
            std::string::npos);
}

TEST_P(DiskFaults, DirectionsFailApart) {
  AlignedBytes source = random_bytes(bytes_of(kFewChunks), 1);
  AlignedBytes seen(bytes_of(kFewChunks));
  tier_->write(kOffsetBytes, source.span());
  EXPECT_NE(error_of(source, Direction::kWrite, Fault::kEio, 4), "no error");
  tier_->read(kOffsetBytes, seen.span(0, kTransferChunkBytes));
  EXPECT_TRUE(
      std::equal(seen.span().begin(), seen.span().begin() + kTransferChunkBytes, source.span().begin()));
}

// No fault made up here: the file really ends, inside the second chunk.
TEST_P(DiskFaults, AFileCutOffIsReportedByTheSystemItself) {
  constexpr std::int64_t kSize = 2 * kTransferChunkBytes;
  constexpr std::int64_t kEnd = kTransferChunkBytes + 2 * kGranuleBytes;
  ASSERT_EQ(ftruncate(fd_, kEnd), 0);
  AlignedBytes memory(kSize);
  std::string text = "no error";
  try {
    tier_->read(0, memory.span());
  } catch (const StorageError& error) {
    text = error.what();
  }
  const std::string expected = "cannot read " + std::to_string(kSize - kEnd) + " bytes at offset " +
                               std::to_string(kEnd) +
                               " of the spill file in '/var/tmp': unexpected end of file";
  EXPECT_EQ(text.substr(0, expected.size()), expected);
}

class FileSizeLimit {
 public:
  explicit FileSizeLimit(std::int64_t bytes) : old_action_(signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &old_);
    rlimit limit = old_;
    limit.rlim_cur = static_cast<rlim_t>(bytes);
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &old_);
    signal(SIGXFSZ, old_action_);
  }

 private:
  rlimit old_{};
  sighandler_t old_action_;
};

// Nor here: the system cuts the second request short at the limit and refuses the rest of it.
TEST_P(DiskFaults, AWriteStoppedByTheSystemIsReportedWhereItStopped) {
  constexpr std::int64_t kSize = 2 * kTransferChunkBytes;
  constexpr std::int64_t kLimit = kTransferChunkBytes + 5 * kGranuleBytes;
  AlignedBytes source = random_bytes(kSize, 3);
  std::string text = "no error";
  {
    const FileSizeLimit limited(kLimit);
    try {
      tier_->write(0, source.span());
    } catch (const StorageError& error) {
      text = error.what();
    }
  }
  const std::string expected = "cannot write " + std::to_string(kSize - kLimit) + " bytes at offset " +
                               std::to_string(kLimit) + " of the spill file in '/var/tmp': File too large";
  EXPECT_EQ(text.substr(0, expected.size()), expected);
  AlignedBytes seen(kLimit);
  tier_->read(0, seen.span());
  EXPECT_TRUE(std::equal(seen.span().begin(), seen.span().end(), source.span().begin()));
}

INSTANTIATE_TEST_SUITE_P(Disk, DiskFaults,
                         ::testing::Values(Method{"io_uring_direct", true, true},
                                           Method{"pread_direct", false, true},
                                           Method{"page_cache", false, false}),
                         [](const ::testing::TestParamInfo<Method>& method) { return method.param.name; });

}  // namespace
}  // namespace vdnn::testing
