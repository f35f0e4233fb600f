#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "tier/request_queue.h"
#include "tier/spill_file.h"
#include "vdnn/tier.h"

namespace vdnn {

// The tier over a spill file and two queues on it. open_disk_tier() chooses the best queues there are;
// tests hand in their own.
class DiskTier : public Tier {
 public:
  // `method` goes into the description: how the queues do their transfers.
  DiskTier(SpillFile file, std::unique_ptr<RequestQueue> writes, std::unique_ptr<RequestQueue> reads,
           std::string method);

  [[nodiscard]] std::string description() const override;
  [[nodiscard]] std::int64_t granule_bytes() const override;
  // Again: grows and keeps what the tier holds; fewer bytes than before change nothing.
  void reserve(std::int64_t bytes) override;
  void write(std::int64_t offset_bytes, std::span<const std::byte> source) override;
  void read(std::int64_t offset_bytes, std::span<std::byte> destination) override;

 private:
  // One per direction, so that a write and a read never wait for each other's completions.
  struct Lane {
    std::mutex mutex;
    std::unique_ptr<RequestQueue> queue;
  };

  void transfer(Lane& lane, const FileRequest& whole);

  SpillFile file_;  // closed after the queues that use it
  std::string method_;
  std::int64_t reserved_bytes_ = 0;
  Lane writes_;
  Lane reads_;
};

// A queue on `file`: a ring where `allow_io_uring`, the kernel and direct I/O permit, else pread and
// pwrite. `method` becomes the words for it, with the reason where it is not the ring.
std::unique_ptr<RequestQueue> open_request_queue(const SpillFile& file, bool allow_io_uring,
                                                 std::string& method);

}  // namespace vdnn
