#pragma once

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <variant>
#include <vector>

#include "device/cuda/event_pool.h"
#include "device/cuda/first_error.h"
#include "device/cuda/memory.h"
#include "vdnn/device.h"

namespace vdnn::cuda {

class StagedLane;

// Where a stream stood when an event was recorded.
struct Recording {
  Event event = nullptr;       // of a stream that is issued to directly
  StagedLane* lane = nullptr;  // else
  std::uint32_t ticket = 0;    // of the lane
};

// Copies of one direction between device memory and a tier that the device cannot reach: by way of a few
// pinned buffers, on a thread of its own that moves bytes between them and the tier while the device moves
// others. Nobody who enqueues waits.
//
// The thread issues the device's copies to the lane's stream. Others cannot wait for an event that has not
// been recorded yet, so a counter in device memory tells them: the lane has tickets written there, and
// streams wait for that value. A ticket is passed when the tier's side of its copies is done, too: who comes
// after it, by whatever way, may read in the tier what they left there. For the same reason copies in wait on
// the thread, before they read.
class StagedLane {
 public:
  struct Options {
    Runtime& runtime;
    FirstError& error;
    Stream stream = nullptr;
    Stream signals = nullptr;  // that never waits for anything
    StreamKind kind = StreamKind::far_offload;
    void* counter = nullptr;  // four bytes of device memory, zero
  };
  static constexpr std::int64_t kSlotBytes = std::int64_t{4} << 20;
  static constexpr std::size_t kSlots = 4;

  // All that is named in the options must outlive the lane.
  explicit StagedLane(const Options& options);
  ~StagedLane();
  StagedLane(const StagedLane&) = delete;
  StagedLane& operator=(const StagedLane&) = delete;

  void copy(std::byte* device, std::int64_t bytes, Tier& tier, std::int64_t tier_offset_bytes);
  // What is enqueued later waits for the recording.
  void wait(const Recording& recording);
  // A ticket for all that has been enqueued.
  std::uint32_t record();

  [[nodiscard]] void* counter() const { return options_.counter; }
  void wait_on_host(std::uint32_t ticket);
  // Until everything is done.
  void drain();

  // Why the buffers are not pinned; empty where they are.
  [[nodiscard]] const std::string& why_not_pinned() const { return memory_.why_not(); }

  using Clock = std::chrono::steady_clock;
  struct Busy {
    Clock::time_point begin;
    Clock::time_point end;
  };
  // When the copies ran that were enqueued while on; by copy, in order.
  void measure(bool on);
  std::vector<Busy> take_busy();

 private:
  struct Copy {
    std::byte* device = nullptr;
    std::int64_t bytes = 0;
    Tier* tier = nullptr;
    std::int64_t tier_offset_bytes = 0;
    bool measured = false;
  };
  struct Signal {
    std::uint32_t ticket = 0;
  };
  using Task = std::variant<Copy, Recording, Signal>;

  struct Slot {
    std::byte* memory = nullptr;
    Event copied = nullptr;
    bool in_use = false;
  };
  // What has been issued and is not over for the host: a piece of a copy in a slot, the end of a copy, a
  // ticket.
  struct Piece {
    Slot* slot = nullptr;
    std::int64_t bytes = 0;
    Tier* tier = nullptr;
    std::int64_t tier_offset_bytes = 0;
    bool first = false;  // of its copy
  };
  struct CopyEnd {
    Clock::time_point begin;
  };
  using Issued = std::variant<Piece, CopyEnd, Signal>;

  void push(Task task);
  void run();
  std::optional<Task> next_task();
  void perform(const Task& task);
  void perform(const Copy& copy);
  void perform_wait(const Recording& recording);
  void write_ticket(Stream stream, std::uint32_t ticket);
  void issue_piece(const Copy& copy, std::int64_t at, std::int64_t bytes);
  Slot& free_slot();
  void retire_oldest();
  void retire(const Piece& piece);
  // Runs what may fail; an error is kept, and from then on such work is skipped.
  template <class Work>
  void attempt(const Work& work);

  Options options_;
  bool out_;
  HostMemory memory_;
  EventPool slot_events_;
  std::array<Slot, kSlots> slots_;
  std::size_t next_slot_ = 0;
  std::deque<Issued> issued_;  // of the thread alone, as is the next
  Clock::time_point writing_since_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Task> tasks_;
  bool busy_ = false;  // the thread has something that is not in tasks_
  bool stopping_ = false;
  bool measures_ = false;
  std::uint32_t tickets_ = 0;
  std::uint32_t passed_ = 0;  // for the host
  std::vector<Busy> spans_;
  std::thread thread_;  // last: it uses the others
};

}  // namespace vdnn::cuda
