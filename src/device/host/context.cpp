#include "device/host/context.h"

#include <fmt/format.h>

#include <cstring>

#include "vdnn/error.h"

namespace vdnn {

HostContext::HostContext(const Program& program, HostCode& code, const ArenaOptions& options,
                         HostStreams::Work on_compute_thread)
    : program_(program),
      code_(code),
      arena_(options.budget_bytes, options.planned_bytes),
      streams_(std::move(on_compute_thread), options.random_delay_seconds, options.delay_seed) {}

void HostContext::launch(KernelId kernel, int candidate, std::span<const std::int64_t> offsets_bytes,
                         const StepScalars& scalars) {
  std::vector<std::byte*> arguments;
  arguments.reserve(offsets_bytes.size());
  for (const auto offset : offsets_bytes) arguments.push_back(arena_.data() + offset);
  const std::string& name = program_.kernel(kernel).name;
  streams_.enqueue(StreamKind::compute, name,
                   [this, kernel, candidate, arguments = std::move(arguments), scalars] {
                     try {
                       code_.run(kernel, candidate, arguments, scalars);
                     } catch (const std::exception& error) {
                       const auto& failed = program_.kernel(kernel);
                       throw DeviceError(fmt::format("step {}: {} {} {} failed: {}", scalars.step, failed.op,
                                                     failed.name, phase_name(failed.phase), error.what()));
                     }
                   });
}

void HostContext::copy(StreamKind stream, std::int64_t arena_offset_bytes, std::int64_t bytes,
                       std::int64_t tier_offset_bytes) {
  Tier& tier = *tiers_[index_of(stream)];
  const std::span<std::byte> memory(arena_.data() + arena_offset_bytes, static_cast<std::size_t>(bytes));
  const bool out = is_offload(stream);
  streams_.enqueue(stream, std::string(stream_name(stream)), [&tier, memory, tier_offset_bytes, out] {
    out ? tier.write(tier_offset_bytes, memory) : tier.read(tier_offset_bytes, memory);
  });
}

void HostContext::poison(std::int64_t arena_offset_bytes, std::int64_t bytes) {
  // All bits set is a NaN in every floating-point format.
  streams_.enqueue(StreamKind::compute, kPoisonSpan, [this, arena_offset_bytes, bytes] {
    std::memset(arena_.data() + arena_offset_bytes, 0xff, static_cast<std::size_t>(bytes));
  });
}

void HostContext::write_values(BufferId buffer, std::int64_t arena_offset_bytes, std::int64_t first,
                               std::span<const float> values) {
  code_.write_values(buffer, arena_.data() + arena_offset_bytes, first, values);
}

void HostContext::read_values(BufferId buffer, std::int64_t arena_offset_bytes, std::int64_t first,
                              std::span<float> values) {
  code_.read_values(buffer, arena_.data() + arena_offset_bytes, first, values);
}

}  // namespace vdnn
