#include "tier/chunked_transfer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "tier/aligned_bytes.h"
#include "vdnn/error.h"

namespace vdnn::testing {
namespace {

constexpr std::int64_t kGranuleBytes = 4096;

// A file in memory whose requests end in random order, short or interrupted as often as not.
class UnreliableQueue : public RequestQueue {
 public:
  UnreliableQueue(int depth, std::int64_t file_bytes, std::uint64_t seed)
      : depth_(depth), file_(static_cast<std::size_t>(file_bytes)), random_(seed) {
    in_flight_.reserve(static_cast<std::size_t>(depth));
  }

  [[nodiscard]] std::vector<std::byte>& file() { return file_; }
  [[nodiscard]] std::size_t most_in_flight() const { return most_in_flight_; }
  [[nodiscard]] std::size_t in_flight() const { return in_flight_.size(); }
  void fail_from(std::int64_t offset_bytes) { broken_from_ = offset_bytes; }

  [[nodiscard]] int depth() const noexcept override { return depth_; }

  void submit(int slot, const FileRequest& request) noexcept override {
    in_flight_.push_back({slot, request});
    most_in_flight_ = std::max(most_in_flight_, in_flight_.size());
  }

  Completion wait() noexcept override {
    std::swap(in_flight_[random_() % in_flight_.size()], in_flight_.back());
    const Entry entry = in_flight_.back();
    in_flight_.pop_back();
    if (entry.request.offset_bytes >= broken_from_) return {entry.slot, -EIO};
    switch (random_() % 4) {
      case 0:
        return {entry.slot, random_() % 2 == 0 ? -EINTR : -EAGAIN};
      case 1:
        return {entry.slot,
                move(entry.request, 1 + static_cast<std::int64_t>(random_()) % entry.request.size_bytes)};
      default:
        return {entry.slot, move(entry.request, entry.request.size_bytes)};
    }
  }

 private:
  struct Entry {
    int slot = 0;
    FileRequest request;
  };

  std::int64_t move(const FileRequest& request, std::int64_t bytes) {
    bytes = std::clamp(bytes, std::int64_t{1}, request.size_bytes);
    std::byte* const in_file = file_.data() + request.offset_bytes;
    if (request.direction == Direction::kWrite) {
      std::memcpy(in_file, request.memory, static_cast<std::size_t>(bytes));
    } else {
      std::memcpy(request.memory, in_file, static_cast<std::size_t>(bytes));
    }
    return bytes;
  }

  int depth_;
  std::vector<std::byte> file_;
  std::mt19937_64 random_;
  std::vector<Entry> in_flight_;
  std::size_t most_in_flight_ = 0;
  std::int64_t broken_from_ = std::int64_t{1} << 62;
};

TEST(ChunkedTransfer, MovesEveryByteOverAnUnreliableQueueOfAnyDepth) {
  for (const int depth : {1, 2, 3, 16}) {
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
      const std::int64_t size = static_cast<std::int64_t>(1 + seed) * kTransferChunkBytes + 3 * kGranuleBytes;
      const std::int64_t offset = 2 * kGranuleBytes;
      AlignedBytes source = random_bytes(size, seed);
      AlignedBytes seen(size);
      UnreliableQueue queue(depth, offset + size + kGranuleBytes, seed);
      transfer_in_chunks(queue, {Direction::kWrite, source.span().data(), size, offset}, kGranuleBytes,
                         "file");
      transfer_in_chunks(queue, {Direction::kRead, seen.span().data(), size, offset}, kGranuleBytes, "file");
      EXPECT_TRUE(seen == source) << "depth " << depth << ", seed " << seed;
      const auto zero = [](std::byte byte) { return byte == std::byte{0}; };
      EXPECT_TRUE(std::all_of(queue.file().begin(), queue.file().begin() + offset, zero));
      EXPECT_TRUE(std::all_of(queue.file().end() - kGranuleBytes, queue.file().end(), zero));
      EXPECT_EQ(queue.most_in_flight(),
                std::min(static_cast<std::size_t>(depth), static_cast<std::size_t>(seed + 2)));
    }
  }
}

TEST(ChunkedTransfer, DrainsAndIssuesNothingMoreAfterTheFirstError) {
  AlignedBytes memory(8 * kTransferChunkBytes);
  UnreliableQueue queue(4, 8 * kTransferChunkBytes, 1);
  queue.fail_from(0);
  EXPECT_THROW(
      transfer_in_chunks(queue, {Direction::kWrite, memory.span().data(), 8 * kTransferChunkBytes, 0},
                         kGranuleBytes, "file"),
      StorageError);
  EXPECT_EQ(queue.in_flight(), 0U);
  EXPECT_TRUE(std::all_of(queue.file().begin(), queue.file().end(),
                          [](std::byte byte) { return byte == std::byte{0}; }));
}

// Moves one granule at every second request and is interrupted at the others.
class SlowQueue : public RequestQueue {
 public:
  [[nodiscard]] int requests() const { return requests_; }
  [[nodiscard]] int depth() const noexcept override { return 1; }
  void submit(int, const FileRequest&) noexcept override { ++requests_; }
  Completion wait() noexcept override { return {0, requests_ % 2 == 0 ? kGranuleBytes : -EINTR}; }

 private:
  int requests_ = 0;
};

TEST(ChunkedTransfer, CountsFruitlessAttemptsOnlyBetweenTwoThatMoveSomething) {
  AlignedBytes memory(kTransferChunkBytes);
  SlowQueue queue;
  transfer_in_chunks(queue, {Direction::kRead, memory.span().data(), kTransferChunkBytes, 0}, kGranuleBytes,
                     "file");
  EXPECT_EQ(queue.requests(), 512);
}

TEST(ChunkedTransfer, AnEmptyTransferAsksForNothing) {
  UnreliableQueue queue(4, kGranuleBytes, 1);
  transfer_in_chunks(queue, {Direction::kRead, nullptr, 0, 0}, kGranuleBytes, "file");
  EXPECT_EQ(queue.most_in_flight(), 0U);
}

}  // namespace
}  // namespace vdnn::testing
