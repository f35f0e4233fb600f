#pragma once

#include "tier/request_queue.h"

namespace vdnn {

enum class PageCache {
  bypassed,     // the file is open with O_DIRECT
  drop_behind,  // each write is pushed to the disk, and its pages and those of reads are given back
};

// pread and pwrite, one at a time, finished when submit() returns.
class SynchronousQueue : public RequestQueue {
 public:
  // `fd` must outlive the queue.
  SynchronousQueue(int fd, PageCache page_cache) : fd_(fd), page_cache_(page_cache) {}

  [[nodiscard]] int depth() const noexcept override { return 1; }
  void submit(int slot, const FileRequest& request) noexcept override;
  Completion wait() noexcept override { return completion_; }

 private:
  int fd_;
  PageCache page_cache_;
  Completion completion_;
};

}  // namespace vdnn
