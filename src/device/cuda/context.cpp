#include "device/cuda/context.h"

#include <fmt/format.h>

#include "device/cuda/call.h"
#include "vdnn/error.h"

namespace vdnn::cuda {
namespace {

constexpr std::int64_t kCounterBytes = 64;  // so that each has its own line

// The calling thread may have used another device before.
Runtime& on_device(Runtime& runtime) {
  check(runtime, runtime.use_device(), "cudaSetDevice");
  return runtime;
}

}  // namespace

Context::Streams::Streams(Runtime& runtime) : runtime_(runtime) {
  for (auto& stream : all_) {
    const Status status = runtime.create_stream(&stream);
    if (status == 0) continue;
    stream = nullptr;
    for (const auto made : all_) {
      if (made != nullptr) static_cast<void>(runtime.destroy_stream(made));
    }
    check(runtime, status, "cudaStreamCreateWithFlags");
  }
}

Context::Streams::~Streams() {
  for (const auto stream : all_) {
    if (runtime_.destroy_stream(stream) != 0) runtime_.clear_error();
  }
}

Context::Context(Runtime& runtime, const Program& program, DeviceCode& code, const ArenaOptions& options)
    : runtime_(on_device(runtime)),
      program_(program),
      code_(code),
      arena_(runtime, options.planned_bytes),
      counters_(runtime, kCounterBytes * static_cast<std::int64_t>(kStreamCount)),
      streams_(runtime),
      events_(runtime),
      clock_(runtime, events_) {
  check_call(runtime_.fill_async(counters_.data(), 0, static_cast<std::size_t>(counters_.bytes()),
                                 streams_.values()),
             "cudaMemsetAsync");
  check_call(runtime_.synchronize_stream(streams_.values()), "cudaStreamSynchronize");
}

// What still runs uses what is about to go.
Context::~Context() {
  drain();
}

void Context::drain() {
  for (const auto& lane : lanes_) {
    if (lane) lane->drain();
  }
  for (const auto kind : kStreamKinds) finish(kind);
}

void Context::check_call(Status status, std::string_view name) {
  check(runtime_, status, name);
}

template <class Work>
void Context::issue(StreamKind kind, std::string_view name, const Work& work) {
  if (error_.failed()) return;
  try {
    clock_.begin(kind, name, streams_.of(kind), streams_.of(StreamKind::compute));
    work();
    clock_.end(streams_.of(kind));
  } catch (...) {
    error_.keep(std::current_exception());
  }
}

void Context::launch(KernelId id, int candidate, std::span<const std::int64_t> offsets_bytes,
                     const StepScalars& scalars) {
  step_ = scalars.step;
  const Kernel& kernel = program_.kernel(id);
  issue(StreamKind::compute, kernel.name, [&] {
    std::vector<std::byte*> arguments;
    arguments.reserve(offsets_bytes.size());
    for (const auto offset : offsets_bytes) arguments.push_back(arena_.data() + offset);
    try {
      code_.launch(id, candidate, arguments, scalars, streams_.of(StreamKind::compute));
    } catch (const std::exception& error) {
      throw DeviceError(fmt::format("step {}: {} {} {} failed: {}", scalars.step, kernel.op, kernel.name,
                                    phase_name(kernel.phase), error.what()));
    }
  });
}

// A kernel's code is loaded when it is first launched, for which the library may wait for all streams: in a
// step one of them could be waiting for somebody who waits for the library.
void Context::load(KernelId kernel, int candidate, std::span<const std::int64_t> offsets_bytes) {
  launch(kernel, candidate, offsets_bytes, {});
  synchronize();
}

// Now, because pinning memory waits for all streams, too.
void Context::bind(StreamKind kind, Tier& tier) {
  tiers_[index_of(kind)] = &tier;
  auto& lane = lanes_[index_of(kind)];
  if (lane || tier.device_visible(0) != nullptr) return;
  lane = std::make_unique<StagedLane>(StagedLane::Options{
      .runtime = runtime_,
      .error = error_,
      .stream = streams_.of(kind),
      .signals = streams_.signals(),
      .kind = kind,
      .counter = counters_.data() + kCounterBytes * static_cast<std::int64_t>(index_of(kind))});
  lane->measure(clock_.measures());
}

void Context::copy(StreamKind kind, std::int64_t arena_offset_bytes, std::int64_t bytes,
                   std::int64_t tier_offset_bytes) {
  Tier& tier = *tiers_[index_of(kind)];
  std::byte* device = arena_.data() + arena_offset_bytes;
  if (auto* staged = lane(kind)) return staged->copy(device, bytes, tier, tier_offset_bytes);
  issue(kind, stream_name(kind), [&] {
    std::byte* host = tier.device_visible(tier_offset_bytes);
    const bool out = is_offload(kind);
    const Status status =
        runtime_.copy_async(out ? host : device, out ? device : host, static_cast<std::size_t>(bytes),
                            out ? CopyKind::to_host : CopyKind::to_device, streams_.of(kind));
    if (status == 0) return;
    check_call(status,
               fmt::format("step {}: cudaMemcpyAsync, {} of {} bytes", step_, stream_name(kind), bytes));
  });
}

void Context::poison(std::int64_t arena_offset_bytes, std::int64_t bytes) {
  // All bits set is a NaN in every floating-point format.
  issue(StreamKind::compute, kPoisonSpan, [&] {
    check_call(runtime_.fill_async(arena_.data() + arena_offset_bytes, 0xff, static_cast<std::size_t>(bytes),
                                   streams_.of(StreamKind::compute)),
               "cudaMemsetAsync");
  });
}

void Context::record(EventId id, StreamKind kind) {
  Recording recording;
  try {
    if (auto* staged = lane(kind)) {
      recording = {.lane = staged, .ticket = staged->record()};
    } else {
      const Event event = events_.take(false);
      check_call(runtime_.record_event(event, streams_.of(kind)), "cudaEventRecord");
      recording.event = event;
    }
  } catch (...) {
    error_.keep(std::current_exception());
  }
  const std::lock_guard lock(mutex_);
  if (id.index() >= recordings_.size()) recordings_.resize(id.index() + 1);
  recordings_[id.index()] = recording;
}

Recording Context::recording_of(EventId id) {
  const std::lock_guard lock(mutex_);
  return id.index() < recordings_.size() ? recordings_[id.index()] : Recording{};
}

void Context::wait(StreamKind kind, EventId id) {
  const Recording recording = recording_of(id);
  if (recording.event == nullptr && recording.lane == nullptr) return;
  if (kind == StreamKind::compute) clock_.waits();
  if (auto* staged = lane(kind)) return staged->wait(recording);
  try {
    wait_for(kind, recording);
  } catch (...) {
    error_.keep(std::current_exception());
  }
}

void Context::wait_for(StreamKind kind, const Recording& recording) {
  const Stream stream = streams_.of(kind);
  if (recording.lane != nullptr) {
    check_call(runtime_.wait_value(stream, recording.lane->counter(), recording.ticket),
               "cuStreamWaitValue32");
  } else {
    check_call(runtime_.wait_event(stream, recording.event), "cudaStreamWaitEvent");
  }
}

void Context::wait_on_host(EventId id) {
  const Recording recording = recording_of(id);
  if (recording.lane != nullptr) return recording.lane->wait_on_host(recording.ticket);
  if (recording.event == nullptr) return;
  if (runtime_.use_device() != 0 || runtime_.synchronize_event(recording.event) != 0) runtime_.clear_error();
}

void Context::finish(StreamKind kind) {
  const Status status = runtime_.synchronize_stream(streams_.of(kind));
  try {
    check_call(status,
               fmt::format("step {}: the {} stream, cudaStreamSynchronize", step_, stream_name(kind)));
  } catch (...) {
    error_.keep(std::current_exception());
  }
}

void Context::synchronize() {
  drain();
  try {
    clock_.collect();
  } catch (...) {
    error_.keep(std::current_exception());
  }
  for (const auto kind : kStreamKinds) {
    if (lane(kind) == nullptr) continue;
    for (const auto& busy : lane(kind)->take_busy()) clock_.add(kind, busy.begin, busy.end);
  }
  {
    const std::lock_guard lock(mutex_);
    recordings_.clear();
  }
  events_.give_back_all();
  error_.rethrow();
}

void Context::measure(bool on) {
  clock_.measure(on);
  for (const auto& lane : lanes_) {
    if (lane) lane->measure(on);
  }
}

void Context::transfer(void* to, const void* from, std::size_t bytes, CopyKind kind) {
  const std::lock_guard lock(values_mutex_);
  check_call(runtime_.use_device(), "cudaSetDevice");
  check_call(runtime_.copy_async(to, from, bytes, kind, streams_.values()), "cudaMemcpyAsync");
  check_call(runtime_.synchronize_stream(streams_.values()), "cudaStreamSynchronize");
}

void Context::write_bytes(std::int64_t arena_offset_bytes, std::span<const std::byte> bytes) {
  transfer(arena_.data() + arena_offset_bytes, bytes.data(), bytes.size(), CopyKind::to_device);
}

void Context::read_bytes(std::int64_t arena_offset_bytes, std::span<std::byte> bytes) {
  transfer(bytes.data(), arena_.data() + arena_offset_bytes, bytes.size(), CopyKind::to_host);
}

void Context::write_values(BufferId buffer, std::int64_t arena_offset_bytes, std::int64_t first,
                           std::span<const float> values) {
  const auto range = code_.range_of(buffer, first, std::ssize(values));
  std::vector<std::byte> image(static_cast<std::size_t>(range.end_bytes - range.begin_bytes));
  if (range.holds_others) read_bytes(arena_offset_bytes + range.begin_bytes, image);
  code_.write_values(buffer, image, first, values);
  write_bytes(arena_offset_bytes + range.begin_bytes, image);
}

void Context::read_values(BufferId buffer, std::int64_t arena_offset_bytes, std::int64_t first,
                          std::span<float> values) {
  const auto range = code_.range_of(buffer, first, std::ssize(values));
  std::vector<std::byte> image(static_cast<std::size_t>(range.end_bytes - range.begin_bytes));
  read_bytes(arena_offset_bytes + range.begin_bytes, image);
  code_.read_values(buffer, image, first, values);
}

void Context::write_values(BufferId buffer, std::span<std::byte> bytes, std::int64_t first,
                           std::span<const float> values) const {
  const auto range = code_.range_of(buffer, first, std::ssize(values));
  code_.write_values(buffer,
                     bytes.subspan(static_cast<std::size_t>(range.begin_bytes),
                                   static_cast<std::size_t>(range.end_bytes - range.begin_bytes)),
                     first, values);
}

void Context::read_values(BufferId buffer, std::span<const std::byte> bytes, std::int64_t first,
                          std::span<float> values) const {
  const auto range = code_.range_of(buffer, first, std::ssize(values));
  code_.read_values(buffer,
                    bytes.subspan(static_cast<std::size_t>(range.begin_bytes),
                                  static_cast<std::size_t>(range.end_bytes - range.begin_bytes)),
                    first, values);
}

}  // namespace vdnn::cuda
