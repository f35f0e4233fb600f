#pragma once

#include <algorithm>
#include <array>
#include <span>

#include "device/host/arena.h"
#include "device/host/streams.h"
#include "vdnn/device.h"

namespace vdnn {

// What a backend whose memory is the host's brings to a context.
class HostCode {
 public:
  virtual ~HostCode() = default;

  // Runs a kernel; arguments: reads, writes, workspace. Only from the compute stream's thread.
  virtual void run(KernelId kernel, int candidate, std::span<std::byte* const> arguments,
                   const StepScalars& scalars) = 0;

  // As DeviceContext's, on the buffer's bytes. Thread-safe.
  virtual void write_values(BufferId buffer, std::byte* data, std::int64_t first,
                            std::span<const float> values) const = 0;
  virtual void read_values(BufferId buffer, const std::byte* data, std::int64_t first,
                           std::span<float> values) const = 0;
};

// DeviceContext for host memory: kernels on one thread, copies on others.
class HostContext : public DeviceContext {
 public:
  // `program` and `code` must outlive the context.
  HostContext(const Program& program, HostCode& code, const ArenaOptions& options,
              HostStreams::Work on_compute_thread);

  void launch(KernelId kernel, int candidate, std::span<const std::int64_t> offsets_bytes,
              const StepScalars& scalars) override;
  void bind(StreamKind stream, Tier& tier) override { tiers_[index_of(stream)] = &tier; }
  void copy(StreamKind stream, std::int64_t arena_offset_bytes, std::int64_t bytes,
            std::int64_t tier_offset_bytes) override;
  void poison(std::int64_t arena_offset_bytes, std::int64_t bytes) override;
  void record(EventId event, StreamKind stream) override { streams_.record(event, stream); }
  void wait(StreamKind stream, EventId event) override { streams_.wait(stream, event); }
  void wait_on_host(EventId event) override { streams_.wait_on_host(event); }
  void synchronize() override { streams_.synchronize(); }
  void write_values(BufferId buffer, std::int64_t arena_offset_bytes, std::int64_t first,
                    std::span<const float> values) override;
  void read_values(BufferId buffer, std::int64_t arena_offset_bytes, std::int64_t first,
                   std::span<float> values) override;
  void write_bytes(std::int64_t arena_offset_bytes, std::span<const std::byte> bytes) override {
    std::copy(bytes.begin(), bytes.end(), arena_.data() + arena_offset_bytes);
  }
  void read_bytes(std::int64_t arena_offset_bytes, std::span<std::byte> bytes) override {
    std::copy_n(arena_.data() + arena_offset_bytes, bytes.size(), bytes.begin());
  }
  void write_values(BufferId buffer, std::span<std::byte> bytes, std::int64_t first,
                    std::span<const float> values) const override {
    code_.write_values(buffer, bytes.data(), first, values);
  }
  void read_values(BufferId buffer, std::span<const std::byte> bytes, std::int64_t first,
                   std::span<float> values) const override {
    code_.read_values(buffer, bytes.data(), first, values);
  }
  [[nodiscard]] std::int64_t measured_peak_bytes() const override { return arena_.resident_extent_bytes(); }
  [[nodiscard]] StreamTimes times() const override { return streams_.times(); }
  void measure(bool on) override { streams_.measure(on); }
  std::vector<StreamSpan> take_spans() override { return streams_.take_spans(); }

 private:
  const Program& program_;
  HostCode& code_;
  HostArena arena_;
  std::array<Tier*, kStreamCount> tiers_{};
  HostStreams streams_;  // last: its threads use the others
};

}  // namespace vdnn
