#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/counter_random.h"
#include "device/cuda/runtime.h"

namespace vdnn::testing {

// The CUDA runtime's calls with host memory for the device's: a stream is a queue with a thread, which
// delays each piece of work at random. Any call can be made to fail. What CUDA would not forgive (use of
// what was destroyed, memory freed twice) ends the test.
class StandInRuntime : public cuda::Runtime {
 public:
  using Status = cuda::Status;
  static constexpr Status kFailed = 999;
  static constexpr Status kOutOfMemory = 2;

  explicit StandInRuntime(double random_delay_seconds = 0, std::uint64_t seed = 1);
  ~StandInRuntime() override;

  // What the device says that it has free; twice as much is there.
  void set_free_bytes(std::size_t bytes) { free_bytes_ = bytes; }
  // The n-th call of this function from now on fails.
  void fail_call(const std::string& function, std::int64_t n);
  // Every call of this function fails.
  void fail_all(std::string function) { always_failing_ = std::move(function); }
  // How often each function has been called.
  [[nodiscard]] std::map<std::string, std::int64_t> calls() const;
  // An error that nobody has cleared.
  [[nodiscard]] bool has_error_left() const { return error_left_; }
  // Memory, streams and events that have not been given back.
  [[nodiscard]] std::size_t things_in_use() const;

  // For test kernels: runs on the stream.
  Status enqueue(cuda::Stream stream, std::function<void()> work);

  [[nodiscard]] std::string description() const override { return "stand-in"; }
  [[nodiscard]] std::string error_text(Status status) const override;
  void clear_error() override { error_left_ = false; }
  Status use_device() override { return called("cudaSetDevice"); }
  Status memory_info(std::size_t* free_bytes, std::size_t* total_bytes) override;
  Status allocate(void** memory, std::size_t bytes) override { return take("cudaMalloc", memory, bytes); }
  Status release(void* memory) override { return give_back("cudaFree", memory); }
  Status allocate_pinned(void** memory, std::size_t bytes) override {
    return take("cudaHostAlloc", memory, bytes);
  }
  Status release_pinned(void* memory) override { return give_back("cudaFreeHost", memory); }
  Status create_stream(cuda::Stream* stream) override;
  Status destroy_stream(cuda::Stream stream) override;
  Status synchronize_stream(cuda::Stream stream) override;
  Status create_event(cuda::Event* event, bool timed) override;
  Status destroy_event(cuda::Event event) override;
  Status record_event(cuda::Event event, cuda::Stream stream) override;
  Status wait_event(cuda::Stream stream, cuda::Event event) override;
  Status synchronize_event(cuda::Event event) override;
  Status elapsed_milliseconds(float* milliseconds, cuda::Event begin, cuda::Event end) override;
  Status copy_async(void* to, const void* from, std::size_t bytes, cuda::CopyKind kind,
                    cuda::Stream stream) override;
  Status fill_async(void* memory, int byte, std::size_t bytes, cuda::Stream stream) override;
  Status write_value(cuda::Stream stream, void* address, std::uint32_t value) override;
  Status wait_value(cuda::Stream stream, void* address, std::uint32_t value) override;

 private:
  struct StreamState;
  struct EventState;

  // Counts the call; what it returns.
  Status called(const char* function);
  Status take(const char* function, void** memory, std::size_t bytes);
  Status give_back(const char* function, void* memory);
  StreamState& state(cuda::Stream stream);
  EventState& state(cuda::Event event);
  void push(cuda::Stream stream, std::function<void()> work);
  void run(StreamState& stream);

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<cuda::Stream, std::unique_ptr<StreamState>> streams_;
  std::map<cuda::Event, std::shared_ptr<EventState>> events_;
  std::map<void*, std::vector<std::byte>> memory_;
  std::uintptr_t next_handle_ = 1;
  std::map<std::string, std::int64_t> calls_;
  std::string failing_;
  std::int64_t failing_call_ = 0;  // of all calls of that function
  std::string always_failing_;
  std::atomic<bool> error_left_ = false;
  std::size_t free_bytes_ = std::size_t{1} << 30;
  double random_delay_seconds_;
  CounterRandom delays_;
};

}  // namespace vdnn::testing
