#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <vector>

#include "device/cuda/event_pool.h"
#include "device/cuda/first_error.h"
#include "device/cuda/memory.h"
#include "device/cuda/staged_lane.h"
#include "device/cuda/stream_clock.h"
#include "vdnn/device.h"

namespace vdnn::cuda {

// What a lowered program brings to a context on a GPU.
class DeviceCode {
 public:
  virtual ~DeviceCode() = default;

  // Enqueues a kernel on the stream; arguments: device addresses of reads, writes, workspace. Throws where a
  // call fails.
  virtual void launch(KernelId kernel, int candidate, std::span<std::byte* const> arguments,
                      const StepScalars& scalars, Stream stream) = 0;

  // The bytes of a buffer that hold its values first ... first + count - 1, and perhaps others.
  struct Range {
    std::int64_t begin_bytes = 0;
    std::int64_t end_bytes = 0;
    bool holds_others = false;
  };
  [[nodiscard]] virtual Range range_of(BufferId buffer, std::int64_t first, std::int64_t count) const = 0;

  // As DeviceContext's, on an image of such a range in host memory. Thread-safe.
  virtual void write_values(BufferId buffer, std::span<std::byte> range, std::int64_t first,
                            std::span<const float> values) const = 0;
  virtual void read_values(BufferId buffer, std::span<const std::byte> range, std::int64_t first,
                           std::span<float> values) const = 0;
};

// DeviceContext for a GPU: one allocation, a CUDA stream for kernels and one for each direction and tier of
// copies. The thread that enqueues issues to them directly and never waits; only copies to and from a tier
// that the device cannot reach go by way of a thread of their own (StagedLane).
class Context : public DeviceContext {
 public:
  // All must outlive the context. Takes the planned bytes. Throws DeviceError where they cannot be had.
  Context(Runtime& runtime, const Program& program, DeviceCode& code, const ArenaOptions& options);
  ~Context() override;
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  void launch(KernelId kernel, int candidate, std::span<const std::int64_t> offsets_bytes,
              const StepScalars& scalars) override;
  void load(KernelId kernel, int candidate, std::span<const std::int64_t> offsets_bytes) override;
  void bind(StreamKind stream, Tier& tier) override;
  void copy(StreamKind stream, std::int64_t arena_offset_bytes, std::int64_t bytes,
            std::int64_t tier_offset_bytes) override;
  void poison(std::int64_t arena_offset_bytes, std::int64_t bytes) override;
  void record(EventId event, StreamKind stream) override;
  void wait(StreamKind stream, EventId event) override;
  void wait_on_host(EventId event) override;
  void synchronize() override;
  void write_values(BufferId buffer, std::int64_t arena_offset_bytes, std::int64_t first,
                    std::span<const float> values) override;
  void read_values(BufferId buffer, std::int64_t arena_offset_bytes, std::int64_t first,
                   std::span<float> values) override;
  void write_bytes(std::int64_t arena_offset_bytes, std::span<const std::byte> bytes) override;
  void read_bytes(std::int64_t arena_offset_bytes, std::span<std::byte> bytes) override;
  void write_values(BufferId buffer, std::span<std::byte> bytes, std::int64_t first,
                    std::span<const float> values) const override;
  void read_values(BufferId buffer, std::span<const std::byte> bytes, std::int64_t first,
                   std::span<float> values) const override;
  // What was allocated: a GPU does not tell which bytes were touched.
  [[nodiscard]] std::int64_t measured_peak_bytes() const override { return arena_.bytes(); }
  [[nodiscard]] StreamTimes times() const override { return clock_.times(); }
  void measure(bool on) override;
  std::vector<StreamSpan> take_spans() override { return clock_.take_spans(); }

 private:
  // Streams, destroyed last.
  class Streams {
   public:
    explicit Streams(Runtime& runtime);
    ~Streams();
    Streams(const Streams&) = delete;
    Streams& operator=(const Streams&) = delete;
    [[nodiscard]] Stream of(StreamKind kind) const { return all_[index_of(kind)]; }
    [[nodiscard]] Stream values() const { return all_[kStreamCount]; }
    [[nodiscard]] Stream signals() const { return all_[kStreamCount + 1]; }

   private:
    Runtime& runtime_;
    std::array<Stream, kStreamCount + 2> all_{};  // by kind, then those for values and signals
  };

  [[nodiscard]] StagedLane* lane(StreamKind kind) const { return lanes_[index_of(kind)].get(); }
  // Work on a stream that is issued to directly, timed; nothing after an error.
  template <class Work>
  void issue(StreamKind kind, std::string_view name, const Work& work);
  void wait_for(StreamKind kind, const Recording& recording);
  [[nodiscard]] Recording recording_of(EventId event);
  // Until nothing that was enqueued runs any more; keeps the errors.
  void drain();
  void finish(StreamKind kind);
  void check_call(Status status, std::string_view name);
  // Between host and device, in no order with what is enqueued. Blocking.
  void transfer(void* to, const void* from, std::size_t bytes, CopyKind kind);

  Runtime& runtime_;
  const Program& program_;
  DeviceCode& code_;
  DeviceMemory arena_;
  DeviceMemory counters_;  // of the lanes
  Streams streams_;
  EventPool events_;
  FirstError error_;
  StreamClock clock_;
  std::int64_t step_ = 0;  // of the last launch
  std::array<Tier*, kStreamCount> tiers_{};

  std::mutex mutex_;
  std::vector<Recording> recordings_;  // by event, the last one
  std::mutex values_mutex_;
  std::array<std::unique_ptr<StagedLane>, kStreamCount> lanes_;  // last: their threads use the others
};

}  // namespace vdnn::cuda
