#include "train/plan_runner.h"

#include <fmt/format.h>

#include <algorithm>

#include "device/host/arena.h"
#include "vdnn/bytes.h"
#include "vdnn/error.h"

namespace vdnn {
namespace {

// Null where nothing moves there.
std::shared_ptr<Tier> reserved(std::int64_t bytes, std::shared_ptr<Tier> tier, const std::string& directory) {
  if (bytes == 0) return nullptr;
  if (!tier) tier = open_disk_tier({.directory = directory});
  tier->reserve(bytes);
  return tier;
}

std::shared_ptr<Tier> open_near(Executable& executable, const Plan& plan, const PlanRunnerOptions& options) {
  std::shared_ptr<Tier> tier = options.tier;
  if (!tier && plan.tier_bytes > 0) tier = executable.open_host_memory();
  return reserved(plan.tier_bytes, std::move(tier), options.spill_directory);
}

// Bytes of what persists, between a runner and the disk.
class Carrier {
 public:
  Carrier(const Program& program, const std::string& directory)
      : program_(program), disk_(open_disk_tier({.directory = directory})), piece_(kPieceBytes, kPieceBytes) {
    std::int64_t bytes = 0;
    for_each_persistent([&](BufferId buffer) { bytes += slot_bytes(buffer); });
    disk_->reserve(bytes);
  }

  void take(PlanRunner& from) {
    for_each_piece([&](BufferId buffer, std::int64_t at, std::span<std::byte> piece, std::int64_t on_disk) {
      const auto place = from.executor().place_between_steps(buffer);
      if (place.tier) {
        from.tiers().at(*place.tier)->read(place.offset_bytes + at, rounded(piece));
      } else {
        from.context().read_bytes(place.offset_bytes + at, piece);
      }
      disk_->write(on_disk, rounded(piece));
    });
  }

  void give(PlanRunner& to) {
    for_each_piece([&](BufferId buffer, std::int64_t at, std::span<std::byte> piece, std::int64_t on_disk) {
      disk_->read(on_disk, rounded(piece));
      const auto place = to.executor().place_between_steps(buffer);
      if (place.tier) {
        to.tiers().at(*place.tier)->write(place.offset_bytes + at, rounded(piece));
      } else {
        to.context().write_bytes(place.offset_bytes + at, piece);
      }
    });
  }

 private:
  static constexpr std::int64_t kPieceBytes = 16 * kMiB;

  template <class Visit>
  void for_each_persistent(const Visit& visit) const {
    for (std::size_t b = 0; b < program_.buffers.size(); ++b) {
      if (program_.buffers[b].persistent) visit(BufferId(b));
    }
  }

  [[nodiscard]] std::int64_t slot_bytes(BufferId buffer) const {
    return round_up(program_.buffer(buffer).placed_bytes(), disk_->granule_bytes());
  }

  // What a tier takes: whole granules. What may move are such already.
  [[nodiscard]] std::span<std::byte> rounded(std::span<std::byte> piece) const {
    return {piece.data(), static_cast<std::size_t>(round_up(std::ssize(piece), disk_->granule_bytes()))};
  }

  template <class Visit>
  void for_each_piece(const Visit& visit) {
    std::int64_t slot = 0;
    for_each_persistent([&](BufferId buffer) {
      const std::int64_t bytes = program_.buffer(buffer).placed_bytes();
      for (std::int64_t at = 0; at < bytes; at += kPieceBytes) {
        const auto count = static_cast<std::size_t>(std::min(kPieceBytes, bytes - at));
        visit(buffer, at, {piece_.data(), count}, slot + at);
      }
      slot += slot_bytes(buffer);
    });
  }

  const Program& program_;
  std::unique_ptr<Tier> disk_;
  HostArena piece_;
};

}  // namespace

PlanRunner::PlanRunner(Executable& executable, Plan plan, const PlanRunnerOptions& options)
    : plan_(std::move(plan)),
      near_(open_near(executable, plan_, options)),
      far_(reserved(plan_.far_tier_bytes, options.far_tier, options.spill_directory)),
      context_(executable.open({.budget_bytes = plan_.budget_bytes,
                                .planned_bytes = plan_.peak_bytes,
                                .threads = options.threads,
                                .random_delay_seconds = options.random_delay_seconds,
                                .delay_seed = options.delay_seed})),
      executor_(*context_, executable.program(), plan_, tiers(), {.poison = options.poison}),
      values_(*context_, executor_, executable.program(), tiers()) {
  if (options.poison) context_->poison(0, plan_.peak_bytes);
  context_->synchronize();
}

std::string PlanRunner::tiers_description() const {
  std::string text = near_ ? near_->description() : "";
  if (far_) text += (text.empty() ? "" : "; ") + far_->description();
  return text;
}

void hand_over(Executable& executable, std::unique_ptr<PlanRunner>& runner, Plan next,
               const PlanRunnerOptions& options) {
  Carrier carrier(executable.program(), options.spill_directory);
  carrier.take(*runner);
  runner.reset();  // both arenas at a time would take more than the budget
  try {
    auto other = std::make_unique<PlanRunner>(executable, std::move(next), options);
    carrier.give(*other);
    runner = std::move(other);
  } catch (const std::exception& error) {
    throw DeviceError(
        fmt::format("what was trained is lost, the plan could not be changed: {}", error.what()));
  }
}

}  // namespace vdnn
