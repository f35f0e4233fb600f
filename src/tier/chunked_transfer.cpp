#include "tier/chunked_transfer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <optional>
#include <system_error>
#include <thread>
#include <vector>

#include "vdnn/error.h"

namespace vdnn {
namespace {

struct Chunk {
  FileRequest rest;  // what is still to be moved
  int fruitless_attempts = 0;
};

struct Failure {
  FileRequest request;
  std::int64_t result = 0;
};

class ChunkedTransfer {
 public:
  ChunkedTransfer(RequestQueue& queue, const FileRequest& whole, std::int64_t granule_bytes)
      : queue_(queue),
        unissued_(whole),
        granule_bytes_(granule_bytes),
        chunks_(static_cast<std::size_t>(queue.depth())) {}

  // Allocates nothing while requests are in flight, so nothing can throw there.
  std::optional<Failure> run() noexcept {
    for (int slot = 0; slot < queue_.depth(); ++slot) issue_next(slot);
    while (in_flight_ > 0) {
      const Completion completion = queue_.wait();
      --in_flight_;
      if (!failure_) settle(completion);
    }
    return failure_;
  }

 private:
  void issue_next(int slot) noexcept {
    if (unissued_.size_bytes == 0) return;
    Chunk& chunk = chunks_[static_cast<std::size_t>(slot)];
    chunk = {unissued_, 0};
    chunk.rest.size_bytes = std::min(unissued_.size_bytes, kTransferChunkBytes);
    skip(unissued_, chunk.rest.size_bytes);
    submit(slot, chunk.rest);
  }

  void submit(int slot, const FileRequest& request) noexcept {
    ++in_flight_;
    queue_.submit(slot, request);
  }

  void settle(const Completion& completion) noexcept {
    Chunk& chunk = chunks_[static_cast<std::size_t>(completion.slot)];
    const std::int64_t result = completion.result;
    const bool again = result == -EINTR || result == -EAGAIN;
    const bool end_of_file = result == 0 && chunk.rest.direction == Direction::kRead;
    if ((result < 0 && !again) || end_of_file || result > chunk.rest.size_bytes) {
      failure_ = {chunk.rest, result};
      return;
    }
    const std::int64_t moved = again ? 0 : result / granule_bytes_ * granule_bytes_;
    if (moved == chunk.rest.size_bytes) return issue_next(completion.slot);
    if (moved > 0) {
      skip(chunk.rest, moved);
      chunk.fruitless_attempts = 0;
    } else if (++chunk.fruitless_attempts == kFruitlessAttempts) {
      failure_ = {chunk.rest, result};
      return;
    } else if (result == -EAGAIN) {
      // The kernel is short of memory for requests; asking at once would use up the attempts.
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    submit(completion.slot, chunk.rest);
  }

  static void skip(FileRequest& request, std::int64_t bytes) noexcept {
    request.memory += bytes;
    request.offset_bytes += bytes;
    request.size_bytes -= bytes;
  }

  RequestQueue& queue_;
  FileRequest unissued_;
  std::int64_t granule_bytes_;
  std::vector<Chunk> chunks_;
  int in_flight_ = 0;
  std::optional<Failure> failure_;
};

std::string reason(const Failure& failure) {
  if (failure.result == -EINTR || failure.result == -EAGAIN) {
    return fmt::format("{}, {} times in a row",
                       std::generic_category().message(static_cast<int>(-failure.result)),
                       kFruitlessAttempts);
  }
  if (failure.result < 0) return std::generic_category().message(static_cast<int>(-failure.result));
  if (failure.result > failure.request.size_bytes) {
    return fmt::format("the system reports {} bytes moved", failure.result);
  }
  if (failure.result == 0 && failure.request.direction == Direction::kRead) return "unexpected end of file";
  return fmt::format("only {} bytes moved, {} times in a row", failure.result, kFruitlessAttempts);
}

}  // namespace

void transfer_in_chunks(RequestQueue& queue, const FileRequest& whole, std::int64_t granule_bytes,
                        const std::string& file) {
  const std::optional<Failure> failure = ChunkedTransfer(queue, whole, granule_bytes).run();
  if (!failure) return;
  const char* verb = whole.direction == Direction::kWrite ? "write" : "read";
  throw StorageError(fmt::format(
      "cannot {} {} bytes at offset {} of {}: {}; check the disk or name another directory with --spill DIR",
      verb, failure->request.size_bytes, failure->request.offset_bytes, file, reason(*failure)));
}

}  // namespace vdnn
