#pragma once

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "tier/request_queue.h"

namespace vdnn::testing {

enum class Fault {
  kStopsAtGranule,    // one granule moves
  kStopsInGranule,    // one granule and a bit are reported, and only the granule has moved
  kStopsBeforeFirst,  // 904 bytes are reported, none has moved
  kMovesNothing,
  kEio,
  kEnospc,
  kEintr,
  kEagain,
};

// Passes requests on to a real queue, except those it is armed for. The bytes that a fault says did
// not move really do not, so an error overlooked is an error in the data.
class FaultyQueue : public RequestQueue {
 public:
  static constexpr std::int64_t kGranuleBytes = 4096;
  static constexpr std::int64_t kBitBytes = 904;

  explicit FaultyQueue(std::unique_ptr<RequestQueue> inner)
      : inner_(std::move(inner)), reported_extra_(static_cast<std::size_t>(inner_->depth())) {}

  // The request with this index (from 0, counted from now) fails; with `times`, so do those after it.
  void arm(Fault fault, int index, int times = 1) {
    fault_ = fault;
    first_ = index;
    last_ = index + times - 1;
    requests_ = 0;
  }
  void disarm() { fault_.reset(); }

  [[nodiscard]] int requests() const { return requests_; }
  [[nodiscard]] int in_flight() const { return in_flight_; }

  [[nodiscard]] int depth() const noexcept override { return inner_->depth(); }

  void submit(int slot, const FileRequest& request) noexcept override {
    ++in_flight_;
    const int index = requests_++;
    if (!fault_ || index < first_ || index > last_) return inner_->submit(slot, request);
    const bool splittable = request.size_bytes > kGranuleBytes;
    switch (*fault_) {
      case Fault::kStopsAtGranule:
        return pass_first_granule(slot, request, 0);
      case Fault::kStopsInGranule:
        if (splittable) return pass_first_granule(slot, request, kBitBytes);
        return made_up_.push_back({slot, kBitBytes});
      case Fault::kStopsBeforeFirst:
        return made_up_.push_back({slot, kBitBytes});
      case Fault::kMovesNothing:
        return made_up_.push_back({slot, 0});
      case Fault::kEio:
        return made_up_.push_back({slot, -EIO});
      case Fault::kEnospc:
        return made_up_.push_back({slot, -ENOSPC});
      case Fault::kEintr:
        return made_up_.push_back({slot, -EINTR});
      case Fault::kEagain:
        return made_up_.push_back({slot, -EAGAIN});
    }
  }

  Completion wait() noexcept override {
    --in_flight_;
    if (!made_up_.empty()) {
      const Completion completion = made_up_.back();
      made_up_.pop_back();
      return completion;
    }
    Completion completion = inner_->wait();
    completion.result += std::exchange(reported_extra_[static_cast<std::size_t>(completion.slot)], 0);
    return completion;
  }

 private:
  void pass_first_granule(int slot, FileRequest request, std::int64_t reported_extra) noexcept {
    request.size_bytes = std::min(request.size_bytes, kGranuleBytes);
    reported_extra_[static_cast<std::size_t>(slot)] = reported_extra;
    inner_->submit(slot, request);
  }

  std::unique_ptr<RequestQueue> inner_;
  std::optional<Fault> fault_;
  int first_ = 0;
  int last_ = 0;
  int requests_ = 0;
  int in_flight_ = 0;
  std::vector<Completion> made_up_;
  std::vector<std::int64_t> reported_extra_;
};

}  // namespace vdnn::testing
