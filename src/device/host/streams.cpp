#include "device/host/streams.h"

#include <utility>

namespace vdnn {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_between(Clock::time_point begin, Clock::time_point end) {
  return std::chrono::duration<double>(end - begin).count();
}

}  // namespace

HostStreams::HostStreams(Work on_compute_thread, double random_delay_seconds, std::uint64_t delay_seed)
    : on_compute_thread_(std::move(on_compute_thread)),
      random_delay_seconds_(random_delay_seconds),
      delays_(delay_seed, 0xde1a7, 0) {
  for (const auto kind : kStreamKinds) {
    stream(kind).thread = std::thread([this, kind] { run(kind); });
  }
}

HostStreams::~HostStreams() {
  {
    const Lock lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  for (auto& stream : streams_) stream.thread.join();
}

HostStreams::Event& HostStreams::event(EventId id) {
  if (id.index() >= events_.size()) events_.resize(id.index() + 1);
  return events_[id.index()];
}

void HostStreams::push(StreamKind kind, Task task) {
  stream(kind).queue.push_back(std::move(task));
  changed_.notify_all();
}

void HostStreams::enqueue(StreamKind kind, std::string name, Work work) {
  const Lock lock(mutex_);
  push(kind, {.name = std::move(name), .work = std::move(work)});
}

void HostStreams::record(EventId id, StreamKind kind) {
  const Lock lock(mutex_);
  push(kind, {.event = id, .recording = ++event(id).recorded, .records = true});
}

void HostStreams::wait(StreamKind kind, EventId id) {
  const Lock lock(mutex_);
  push(kind, {.event = id, .recording = event(id).recorded});
}

void HostStreams::wait_on_host(EventId id) {
  Lock lock(mutex_);
  const auto recording = event(id).recorded;
  changed_.wait(lock, [&] { return event(id).completed >= recording; });
}

void HostStreams::synchronize() {
  Lock lock(mutex_);
  changed_.wait(lock, [&] {
    for (const auto& stream : streams_) {
      if (stream.busy || !stream.queue.empty()) return false;
    }
    return true;
  });
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

void HostStreams::run(StreamKind kind) {
  if (kind == StreamKind::compute && on_compute_thread_) on_compute_thread_();
  Stream& self = stream(kind);
  std::uint64_t count = 0;
  Lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return stopping_ || !self.queue.empty(); });
    if (self.queue.empty()) return;
    Task task = std::move(self.queue.front());
    self.queue.pop_front();
    self.busy = true;
    if (random_delay_seconds_ > 0 && task.work) {
      lock.unlock();
      delay(kind, count++);
      lock.lock();
    }
    perform(kind, task, lock);
    self.busy = false;
    changed_.notify_all();
  }
}

void HostStreams::perform(StreamKind kind, Task& task, Lock& lock) {
  Stream& self = stream(kind);
  if (task.records) {
    auto& completed = event(task.event).completed;
    completed = std::max(completed, task.recording);
    return;
  }
  const auto begin = Clock::now();
  if (!task.work) {
    changed_.wait(lock, [&] { return event(task.event).completed >= task.recording; });
    if (measures_) self.wait_seconds += seconds_between(begin, Clock::now());
    return;
  }
  if (error_) return;
  lock.unlock();
  std::exception_ptr error;
  try {
    task.work();
  } catch (...) {
    error = std::current_exception();
  }
  task.work = nullptr;
  lock.lock();
  if (error && !error_) error_ = error;
  if (!measures_) return;
  const auto end = Clock::now();
  self.busy_seconds += seconds_between(begin, end);
  spans_.push_back(
      {kind, std::move(task.name), seconds_between(opened_, begin), seconds_between(opened_, end)});
}

void HostStreams::delay(StreamKind kind, std::uint64_t count) const {
  const double share = delays_.uniform(count * kStreamCount + static_cast<std::uint64_t>(kind));
  std::this_thread::sleep_for(std::chrono::duration<double>(share * random_delay_seconds_));
}

StreamTimes HostStreams::times() const {
  const Lock lock(mutex_);
  const auto busy = [this](StreamKind kind) { return streams_[index_of(kind)].busy_seconds; };
  return {.kernel_seconds = busy(StreamKind::compute),
          .stall_seconds = streams_[index_of(StreamKind::compute)].wait_seconds,
          .offload_seconds = busy(StreamKind::offload) + busy(StreamKind::far_offload),
          .prefetch_seconds = busy(StreamKind::prefetch) + busy(StreamKind::far_prefetch)};
}

void HostStreams::measure(bool on) {
  const Lock lock(mutex_);
  measures_ = on;
}

std::vector<StreamSpan> HostStreams::take_spans() {
  const Lock lock(mutex_);
  return std::exchange(spans_, {});
}

}  // namespace vdnn
