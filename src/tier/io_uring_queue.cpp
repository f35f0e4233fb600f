#include "tier/io_uring_queue.h"

#include <sched.h>

#include <cerrno>
#include <cstdint>

namespace vdnn {
namespace {

// Marks entries whose completion nobody waits for.
constexpr std::uint64_t kAbandoned = ~std::uint64_t{0};

int supports_read_and_write(io_uring& ring) {
  io_uring_probe* probe = io_uring_get_probe_ring(&ring);
  if (probe == nullptr) return -ENOSYS;
  const bool supported = io_uring_opcode_supported(probe, IORING_OP_READ) != 0 &&
                         io_uring_opcode_supported(probe, IORING_OP_WRITE) != 0;
  io_uring_free_probe(probe);
  return supported ? 0 : -ENOSYS;
}

// Zero once the kernel has taken every entry, else why it does not.
int hand_to_kernel(io_uring& ring) {
  while (io_uring_sq_ready(&ring) > 0) {
    const int taken = io_uring_submit(&ring);
    if (taken < 0) return taken;
    if (taken == 0) return -EAGAIN;
  }
  return 0;
}

}  // namespace

std::unique_ptr<IoUringQueue> IoUringQueue::open(int fd, int& error_number) {
  io_uring ring{};
  int result = io_uring_queue_init(kDepth, &ring, 0);
  if (result == 0) {
    result = supports_read_and_write(ring);
    if (result != 0) io_uring_queue_exit(&ring);
  }
  error_number = -result;
  if (result != 0) return nullptr;
  return std::unique_ptr<IoUringQueue>(new IoUringQueue(fd, ring));
}

IoUringQueue::~IoUringQueue() {
  io_uring_queue_exit(&ring_);
}

void IoUringQueue::submit(int slot, const FileRequest& request) noexcept {
  io_uring_sqe* entry = io_uring_get_sqe(&ring_);
  if (entry == nullptr) {
    // Full of entries abandoned below; room appears once the kernel takes those.
    const int result = hand_to_kernel(ring_);
    entry = result == 0 ? io_uring_get_sqe(&ring_) : nullptr;
    if (entry == nullptr) return refuse(slot, result != 0 ? result : -EAGAIN);
  }
  const auto size = static_cast<unsigned>(request.size_bytes);
  const auto offset = static_cast<std::uint64_t>(request.offset_bytes);
  if (request.direction == Direction::kWrite) {
    io_uring_prep_write(entry, fd_, request.memory, size, offset);
  } else {
    io_uring_prep_read(entry, fd_, request.memory, size, offset);
  }
  entry->user_data = static_cast<std::uint64_t>(slot);
  const int result = hand_to_kernel(ring_);
  if (result == 0) return;
  // An entry cannot be taken back, and the kernel may take it later, when the memory has another
  // owner; so it becomes one that touches nothing.
  io_uring_prep_nop(entry);
  entry->user_data = kAbandoned;
  refuse(slot, result);
}

void IoUringQueue::refuse(int slot, std::int64_t result) noexcept {
  refused_[static_cast<std::size_t>(refused_count_++)] = {slot, result};
}

Completion IoUringQueue::wait() noexcept {
  if (refused_count_ > 0) return refused_[static_cast<std::size_t>(--refused_count_)];
  for (;;) {
    io_uring_cqe* entry = nullptr;
    // If waiting itself fails, the requests still complete: look again rather than leave them behind.
    if (io_uring_wait_cqe(&ring_, &entry) != 0 || entry == nullptr) {
      sched_yield();
      continue;
    }
    const std::uint64_t slot = entry->user_data;
    const std::int64_t result = entry->res;
    io_uring_cqe_seen(&ring_, entry);
    if (slot != kAbandoned) return {static_cast<int>(slot), result};
  }
}

}  // namespace vdnn
