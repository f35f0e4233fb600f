#pragma once

#include <liburing.h>

#include <array>
#include <memory>

#include "tier/request_queue.h"

namespace vdnn {

// Up to sixteen requests in flight on one ring. Meant for O_DIRECT: the kernel moves bytes straight
// between the caller's memory and the disk.
class IoUringQueue : public RequestQueue {
 public:
  static constexpr int kDepth = 16;

  // Null where the kernel offers no ring, with its reason in `error_number`. `fd` must outlive the queue.
  static std::unique_ptr<IoUringQueue> open(int fd, int& error_number);

  IoUringQueue(const IoUringQueue&) = delete;
  IoUringQueue& operator=(const IoUringQueue&) = delete;
  ~IoUringQueue() override;

  [[nodiscard]] int depth() const noexcept override { return kDepth; }
  void submit(int slot, const FileRequest& request) noexcept override;
  Completion wait() noexcept override;

 private:
  IoUringQueue(int fd, const io_uring& ring) : fd_(fd), ring_(ring) {}

  void refuse(int slot, std::int64_t result) noexcept;

  int fd_;
  io_uring ring_;
  std::array<Completion, kDepth> refused_{};  // never reached the kernel; wait() hands them out first
  int refused_count_ = 0;
};

}  // namespace vdnn
