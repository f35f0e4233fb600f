#include "support/cuda/stand_in_runtime.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace vdnn::testing {

using Clock = std::chrono::steady_clock;

struct StandInRuntime::StreamState {
  std::deque<std::function<void()>> queue;
  bool busy = false;
  bool stopping = false;
  std::uint64_t number = 0;
  std::thread thread;
};

struct StandInRuntime::EventState {
  std::int64_t recorded = 0;
  std::int64_t completed = 0;
  bool timed = false;
  Clock::time_point at;
};

namespace {

[[noreturn]] void misuse(const char* what) {
  std::fprintf(stderr, "CUDA stand-in: %s\n", what);
  std::abort();
}

constexpr std::size_t kAlignment = 4096;

}  // namespace

StandInRuntime::StandInRuntime(double random_delay_seconds, std::uint64_t seed)
    : random_delay_seconds_(random_delay_seconds), delays_(seed, 0xcda, 0) {}

StandInRuntime::~StandInRuntime() {
  if (!streams_.empty()) misuse("a stream was not destroyed");
}

StandInRuntime::Status StandInRuntime::called(const char* function) {
  const std::lock_guard lock(mutex_);
  const bool fails = ++calls_[function] == failing_call_ && failing_ == function;
  if (!fails && always_failing_ != function) return 0;
  error_left_ = true;
  return always_failing_ == "cudaHostAlloc" ? kOutOfMemory : kFailed;
}

void StandInRuntime::fail_call(const std::string& function, std::int64_t n) {
  const std::lock_guard lock(mutex_);
  failing_ = function;
  failing_call_ = calls_[function] + n;
}

std::map<std::string, std::int64_t> StandInRuntime::calls() const {
  const std::lock_guard lock(mutex_);
  return calls_;
}

std::size_t StandInRuntime::things_in_use() const {
  const std::lock_guard lock(mutex_);
  return streams_.size() + events_.size() + memory_.size();
}

std::string StandInRuntime::error_text(Status status) const {
  return status == kOutOfMemory ? "out of memory (cudaErrorMemoryAllocation)" : "made to fail (999)";
}

StandInRuntime::StreamState& StandInRuntime::state(cuda::Stream stream) {
  const auto found = streams_.find(stream);
  if (found == streams_.end()) misuse("a stream that does not exist");
  return *found->second;
}

StandInRuntime::EventState& StandInRuntime::state(cuda::Event event) {
  const auto found = events_.find(event);
  if (found == events_.end()) misuse("an event that does not exist");
  return *found->second;
}

StandInRuntime::Status StandInRuntime::memory_info(std::size_t* free_bytes, std::size_t* total_bytes) {
  *free_bytes = free_bytes_;
  *total_bytes = 2 * free_bytes_;
  return called("cudaMemGetInfo");
}

StandInRuntime::Status StandInRuntime::take(const char* function, void** memory, std::size_t bytes) {
  if (const Status status = called(function)) return status;
  std::vector<std::byte> block(bytes + kAlignment);
  void* at = block.data();
  std::size_t space = block.size();
  if (std::align(kAlignment, bytes, at, space) == nullptr) misuse("no alignment");
  const std::lock_guard lock(mutex_);
  memory_[at] = std::move(block);
  *memory = at;
  return 0;
}

StandInRuntime::Status StandInRuntime::give_back(const char* function, void* memory) {
  const Status status = called(function);
  const std::lock_guard lock(mutex_);
  if (memory_.erase(memory) != 1) misuse("memory freed that is not allocated");
  return status;
}

StandInRuntime::Status StandInRuntime::create_stream(cuda::Stream* stream) {
  if (const Status status = called("cudaStreamCreateWithFlags")) return status;
  const std::lock_guard lock(mutex_);
  *stream = reinterpret_cast<cuda::Stream>(next_handle_);
  auto& made = streams_[*stream] = std::make_unique<StreamState>();
  made->number = next_handle_++;
  made->thread = std::thread([this, state = made.get()] { run(*state); });
  return 0;
}

StandInRuntime::Status StandInRuntime::destroy_stream(cuda::Stream stream) {
  const Status status = called("cudaStreamDestroy");
  std::unique_ptr<StreamState> gone;
  {
    const std::lock_guard lock(mutex_);
    state(stream).stopping = true;
    gone = std::move(streams_.extract(stream).mapped());
  }
  changed_.notify_all();
  gone->thread.join();
  return status;
}

StandInRuntime::Status StandInRuntime::synchronize_stream(cuda::Stream stream) {
  const Status status = called("cudaStreamSynchronize");
  std::unique_lock lock(mutex_);
  StreamState& waited = state(stream);
  changed_.wait(lock, [&] { return waited.queue.empty() && !waited.busy; });
  return status;
}

StandInRuntime::Status StandInRuntime::create_event(cuda::Event* event, bool timed) {
  if (const Status status = called("cudaEventCreateWithFlags")) return status;
  const std::lock_guard lock(mutex_);
  *event = reinterpret_cast<cuda::Event>(next_handle_++);
  events_[*event] = std::make_shared<EventState>();
  events_[*event]->timed = timed;
  return 0;
}

StandInRuntime::Status StandInRuntime::destroy_event(cuda::Event event) {
  const Status status = called("cudaEventDestroy");
  const std::lock_guard lock(mutex_);
  state(event);
  events_.erase(event);
  return status;
}

StandInRuntime::Status StandInRuntime::record_event(cuda::Event event, cuda::Stream stream) {
  if (const Status status = called("cudaEventRecord")) return status;
  std::shared_ptr<EventState> shared;
  std::int64_t recording = 0;
  {
    const std::lock_guard lock(mutex_);
    recording = ++state(event).recorded;
    shared = events_[event];
  }
  push(stream, [this, shared, recording] {
    const std::lock_guard lock(mutex_);
    shared->completed = std::max(shared->completed, recording);
    shared->at = Clock::now();
    changed_.notify_all();
  });
  return 0;
}

StandInRuntime::Status StandInRuntime::wait_event(cuda::Stream stream, cuda::Event event) {
  if (const Status status = called("cudaStreamWaitEvent")) return status;
  std::shared_ptr<EventState> shared;
  std::int64_t recording = 0;
  {
    const std::lock_guard lock(mutex_);
    recording = state(event).recorded;
    shared = events_[event];
  }
  push(stream, [this, shared, recording] {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return shared->completed >= recording; });
  });
  return 0;
}

StandInRuntime::Status StandInRuntime::synchronize_event(cuda::Event event) {
  const Status status = called("cudaEventSynchronize");
  std::unique_lock lock(mutex_);
  state(event);
  const auto shared = events_[event];
  changed_.wait(lock, [&, recording = shared->recorded] { return shared->completed >= recording; });
  return status;
}

StandInRuntime::Status StandInRuntime::elapsed_milliseconds(float* milliseconds, cuda::Event begin,
                                                            cuda::Event end) {
  if (const Status status = called("cudaEventElapsedTime")) return status;
  const std::lock_guard lock(mutex_);
  const EventState& from = state(begin);
  const EventState& to = state(end);
  if (!from.timed || !to.timed) misuse("the time of an event without timing");
  if (from.completed < from.recorded || to.completed < to.recorded) misuse("the time of a running event");
  *milliseconds = std::chrono::duration<float, std::milli>(to.at - from.at).count();
  return 0;
}

StandInRuntime::Status StandInRuntime::copy_async(void* to, const void* from, std::size_t bytes,
                                                  cuda::CopyKind, cuda::Stream stream) {
  if (const Status status = called("cudaMemcpyAsync")) return status;
  push(stream, [=, this] {
    // Four bytes may be a counter that another stream looks at.
    std::unique_lock lock(mutex_, std::defer_lock);
    if (bytes == sizeof(std::uint32_t)) lock.lock();
    std::memcpy(to, from, bytes);
    changed_.notify_all();
  });
  return 0;
}

StandInRuntime::Status StandInRuntime::fill_async(void* memory, int byte, std::size_t bytes,
                                                  cuda::Stream stream) {
  if (const Status status = called("cudaMemsetAsync")) return status;
  push(stream, [=] { std::memset(memory, byte, bytes); });
  return 0;
}

StandInRuntime::Status StandInRuntime::write_value(cuda::Stream stream, void* address, std::uint32_t value) {
  if (const Status status = called("cuStreamWriteValue32")) return status;
  push(stream, [this, address, value] {
    const std::lock_guard lock(mutex_);
    std::memcpy(address, &value, sizeof value);
    changed_.notify_all();
  });
  return 0;
}

StandInRuntime::Status StandInRuntime::wait_value(cuda::Stream stream, void* address, std::uint32_t value) {
  if (const Status status = called("cuStreamWaitValue32")) return status;
  push(stream, [this, address, value] {
    std::unique_lock lock(mutex_);
    const auto reached = [&] {
      std::uint32_t now = 0;
      std::memcpy(&now, address, sizeof now);
      return static_cast<std::int32_t>(now - value) >= 0;
    };
    changed_.wait(lock, reached);
  });
  return 0;
}

StandInRuntime::Status StandInRuntime::enqueue(cuda::Stream stream, std::function<void()> work) {
  if (const Status status = called("cudaLaunchKernel")) return status;
  push(stream, std::move(work));
  return 0;
}

void StandInRuntime::push(cuda::Stream stream, std::function<void()> work) {
  const std::lock_guard lock(mutex_);
  state(stream).queue.push_back(std::move(work));
  changed_.notify_all();
}

void StandInRuntime::run(StreamState& stream) {
  std::uint64_t count = 0;
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return stream.stopping || !stream.queue.empty(); });
    if (stream.queue.empty()) return;
    const auto work = std::move(stream.queue.front());
    stream.queue.pop_front();
    stream.busy = true;
    lock.unlock();
    if (random_delay_seconds_ > 0) {
      const double share = delays_.uniform(count++ * 64 + stream.number % 64);
      std::this_thread::sleep_for(std::chrono::duration<double>(share * random_delay_seconds_));
    }
    work();
    lock.lock();
    stream.busy = false;
    changed_.notify_all();
  }
}

}  // namespace vdnn::testing
