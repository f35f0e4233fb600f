#pragma once

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/counter_random.h"
#include "vdnn/device.h"

namespace vdnn {

// The streams of a host context: a queue and a thread each, with events between them. Work that
// throws is remembered; from then on work is skipped while events still complete, so nobody hangs.
class HostStreams {
 public:
  using Work = std::function<void()>;

  // `on_compute_thread` runs first on the compute stream's thread.
  HostStreams(Work on_compute_thread, double random_delay_seconds, std::uint64_t delay_seed);
  ~HostStreams();
  HostStreams(const HostStreams&) = delete;
  HostStreams& operator=(const HostStreams&) = delete;

  // `name` is what a trace calls the work.
  void enqueue(StreamKind stream, std::string name, Work work);
  void record(EventId event, StreamKind stream);
  void wait(StreamKind stream, EventId event);
  void wait_on_host(EventId event);
  void synchronize();

  [[nodiscard]] StreamTimes times() const;
  void measure(bool on);
  std::vector<StreamSpan> take_spans();

 private:
  struct Event {
    std::int64_t recorded = 0;   // recordings enqueued
    std::int64_t completed = 0;  // recordings passed
  };
  struct Task {
    std::string name;
    Work work;  // empty: one of the two below
    EventId event;
    std::int64_t recording = 0;
    bool records = false;
  };
  struct Stream {
    std::deque<Task> queue;
    bool busy = false;
    std::thread thread;
    double busy_seconds = 0;
    double wait_seconds = 0;
  };
  using Lock = std::unique_lock<std::mutex>;

  [[nodiscard]] Stream& stream(StreamKind kind) { return streams_[static_cast<std::size_t>(kind)]; }
  Event& event(EventId id);
  void push(StreamKind kind, Task task);
  void run(StreamKind kind);
  void perform(StreamKind kind, Task& task, Lock& lock);
  void delay(StreamKind kind, std::uint64_t count) const;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::array<Stream, kStreamCount> streams_;
  std::vector<Event> events_;
  std::exception_ptr error_;
  bool stopping_ = false;
  bool measures_ = false;
  std::vector<StreamSpan> spans_;
  Work on_compute_thread_;
  double random_delay_seconds_;
  CounterRandom delays_;
  std::chrono::steady_clock::time_point opened_ = std::chrono::steady_clock::now();
};

}  // namespace vdnn
