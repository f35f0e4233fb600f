#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "vdnn/links.h"
#include "vdnn/program.h"
#include "vdnn/stream.h"
#include "vdnn/tier.h"

namespace vdnn {

// What changes from step to step, passed with each launch.
struct StepScalars {
  std::uint64_t seed = 0;
  std::int64_t step = 0;
  double learning_rate = 0;
};

using EventId = Id<struct EventTag>;

// Time the streams of a context spent since it was opened, while they were measured.
struct StreamTimes {
  double kernel_seconds = 0;   // compute stream, running kernels
  double stall_seconds = 0;    // compute stream, waiting for copies
  double offload_seconds = 0;  // copying, to whatever tier
  double prefetch_seconds = 0;
};

inline constexpr const char* kPoisonSpan = "(poison)";

// What a stream did, when; for traces. Seconds since the context was opened.
struct StreamSpan {
  StreamKind stream = StreamKind::compute;
  std::string name;
  double begin_seconds = 0;
  double end_seconds = 0;
};

// A lowered program on a device with an arena: launches, copies and events, as on a GPU.
//
// Work is enqueued on streams and runs asynchronously; each stream runs its work in order.
// Arena memory is named by offsets; only the device touches it. One thread enqueues; write_values and
// read_values may be called from others as long as nothing enqueued uses the same bytes.
// Errors: work that fails is remembered and later work that has not been handed to the hardware is skipped;
// synchronize() drains every stream and throws the first error as DeviceError or StorageError.
class DeviceContext {
 public:
  virtual ~DeviceContext() = default;

  // Brings what a candidate's code needs that could hold others up when it is first launched beside them,
  // before anything is in the arena: what is written to afterwards is undefined. Blocking.
  virtual void load(KernelId kernel, int candidate, std::span<const std::int64_t> offsets_bytes) {
    static_cast<void>(kernel), static_cast<void>(candidate), static_cast<void>(offsets_bytes);
  }
  // Runs a kernel's candidate on the compute stream. offsets_bytes: reads, writes, and the workspace
  // last where the candidate has one.
  virtual void launch(KernelId kernel, int candidate, std::span<const std::int64_t> offsets_bytes,
                      const StepScalars& scalars) = 0;
  // Before the first copy on a stream, or while it is idle: the tier that its copies are to or from, which
  // must outlive them. Takes what they need. Throws DeviceError or StorageError where that cannot be had.
  virtual void bind(StreamKind stream, Tier& tier) = 0;
  // Copies bytes between arena and the stream's tier, out on one of the streams for offloads, in on one of
  // those for prefetches.
  virtual void copy(StreamKind stream, std::int64_t arena_offset_bytes, std::int64_t bytes,
                    std::int64_t tier_offset_bytes) = 0;
  // Fills arena bytes with a pattern that reads as NaN, on the compute stream.
  virtual void poison(std::int64_t arena_offset_bytes, std::int64_t bytes) = 0;

  // The event completes when all work enqueued so far on the stream has. It may be recorded again.
  virtual void record(EventId event, StreamKind stream) = 0;
  // Later work on the stream starts only when the event's last recording has completed.
  virtual void wait(StreamKind stream, EventId event) = 0;
  // Blocks the caller until the event's last recording has completed; does not throw work's errors.
  virtual void wait_on_host(EventId event) = 0;
  // Blocks until every stream is idle, then throws the first error there was.
  virtual void synchronize() = 0;

  // Values first, first + 1, ... of the tensor in a buffer that lies at an offset, in row-major order
  // of its shape whatever the device's layout is; converted to and from float32. Blocking.
  virtual void write_values(BufferId buffer, std::int64_t arena_offset_bytes, std::int64_t first,
                            std::span<const float> values) = 0;
  virtual void read_values(BufferId buffer, std::int64_t arena_offset_bytes, std::int64_t first,
                           std::span<float> values) = 0;

  // Bytes of the arena as they are, for handing over what persists. Blocking, between steps.
  virtual void write_bytes(std::int64_t arena_offset_bytes, std::span<const std::byte> bytes) = 0;
  virtual void read_bytes(std::int64_t arena_offset_bytes, std::span<std::byte> bytes) = 0;

  // The same as values for a copy of the buffer's bytes in host memory, on its way to or from a tier.
  virtual void write_values(BufferId buffer, std::span<std::byte> bytes, std::int64_t first,
                            std::span<const float> values) const = 0;
  virtual void read_values(BufferId buffer, std::span<const std::byte> bytes, std::int64_t first,
                           std::span<float> values) const = 0;

  // The highest address of the arena that was ever touched plus one, from the mapping itself.
  [[nodiscard]] virtual std::int64_t measured_peak_bytes() const = 0;
  [[nodiscard]] virtual StreamTimes times() const = 0;
  // From now on, keeps when the streams do what, or no longer: timing costs a GPU some microseconds a kernel.
  // take_spans() returns what is kept and forgets it.
  virtual void measure(bool on) = 0;
  virtual std::vector<StreamSpan> take_spans() = 0;
};

// Where the trained tensors of a graph lie in its program.
struct BoundTensor {
  BufferId buffer;
  std::int64_t first = 0;  // value of the tensor that is the buffer's first
  std::int64_t count = 0;
};

struct ArenaOptions {
  std::int64_t budget_bytes = 0;   // of the arena
  std::int64_t planned_bytes = 0;  // at most the budget; made resident at once
  int threads = 1;
  // For tests: every piece of work is delayed by a random time up to this many seconds.
  double random_delay_seconds = 0;
  std::uint64_t delay_seed = 0;
};

class KernelTimer {
 public:
  virtual ~KernelTimer() = default;

  // Seconds of one run.
  virtual double seconds(KernelId kernel, int candidate) = 0;
};

// A training graph lowered to a device: the program, and the code behind it.
class Executable {
 public:
  virtual ~Executable() = default;

  [[nodiscard]] virtual const Program& program() const = 0;

  // The links of a machine that is only described: its kernels have their seconds from lowering, and nothing
  // runs. None for devices that measure.
  [[nodiscard]] virtual std::optional<Links> described_links() const { return {}; }

  // The buffers that hold a tensor of the graph (more than one where it is kept in slices).
  [[nodiscard]] virtual std::vector<BoundTensor> tensor(TensorId tensor) const = 0;

  // Kernels with the same signature take the same time where this text is the same: machine, library
  // versions, threads.
  [[nodiscard]] virtual std::string cost_key(int threads) const = 0;

  // Times candidates in memory of its own: the largest working set (program.h) of what it has timed.
  virtual std::unique_ptr<KernelTimer> open_timer(int threads) = 0;

  // Stores a measured time in the program.
  virtual void set_seconds(KernelId kernel, int candidate, double seconds) = 0;

  // The tier of host memory below a device that has memory of its own; null where its memory is the host's.
  [[nodiscard]] virtual bool has_host_memory() const { return false; }
  virtual std::unique_ptr<Tier> open_host_memory() { return nullptr; }

  // Takes the arena. Throws DeviceError when it cannot be had.
  virtual std::unique_ptr<DeviceContext> open(const ArenaOptions& options) = 0;
};

struct DeviceDescription {
  std::string name;
  std::string summary;          // one line for people
  std::int64_t free_bytes = 0;  // what a budget may take now
  int threads = 1;
};

// A place where programs run. Stateless; every member may be called from any thread.
class Device {
 public:
  virtual ~Device() = default;
  [[nodiscard]] virtual DeviceDescription description() const = 0;

  // Throws UnsupportedError, with the op's name and the reason, for what the device lacks.
  [[nodiscard]] virtual std::unique_ptr<Executable> lower(const TrainingGraph& graph, int threads) const = 0;
};

std::vector<std::string> device_names();

// Of GPUs; the others have one precision and are always deterministic.
struct DeviceOptions {
  bool tf32 = false;          // products of float32 with 10 bits of mantissa
  bool deterministic = true;  // the same bits in every run
};

// "cpu", "cuda", "cuda:N", "reference", "profile:NAME" or "profile:FILE". Throws UsageError with the nearest
// names when there is none of this name and for options that the device does not have, UnsupportedError for
// one that this vdnn was built without, DeviceError where the hardware is not there.
std::unique_ptr<Device> open_device(const std::string& name, const DeviceOptions& options = {});

// Whether a device has kernels for a kind of op; of attributes of theirs that it refuses when they are
// lowered this says nothing. Needs no hardware. Throws UsageError for unknown devices.
bool supports(const std::string& device, OpKind kind);

}  // namespace vdnn
