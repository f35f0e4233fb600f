#pragma once

#include <cstddef>
#include <cstdint>

namespace vdnn {

enum class Direction { kWrite, kRead };

// Bytes that one system call is asked to move between memory and the spill file.
struct FileRequest {
  Direction direction = Direction::kRead;
  std::byte* memory = nullptr;  // only read from when writing
  std::int64_t size_bytes = 0;
  std::int64_t offset_bytes = 0;
};

// How one request ended: bytes moved (fewer than asked is legal), or the negative errno.
struct Completion {
  int slot = 0;
  std::int64_t result = 0;
};

// Where the tier meets the kernel, and the only place that does I/O on the spill file. What a result
// means (retry, continue, fail) is decided above, in chunked_transfer.cpp, so one decorator of this
// interface injects every fault into every implementation.
//
// Nothing here throws: requests in flight own the caller's memory, so each one must be waited for.
// Not thread-safe; use from several threads one after the other is fine.
class RequestQueue {
 public:
  virtual ~RequestQueue() = default;

  // Slots 0 .. depth()-1 may each hold one request in flight.
  [[nodiscard]] virtual int depth() const noexcept = 0;

  // Starts a request in a free slot. A failure to start is reported as its completion.
  virtual void submit(int slot, const FileRequest& request) noexcept = 0;

  // Returns some request in flight that has ended; blocks until there is one. At least one must be
  // in flight.
  virtual Completion wait() noexcept = 0;
};

}  // namespace vdnn
