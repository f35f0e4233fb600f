#include "run/link_probe.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>

#include "program/kernel_layout.h"
#include "run/machine_file.h"
#include "vdnn/bytes.h"

namespace vdnn {
namespace {

constexpr std::int64_t kMostKernelBytes = 64 * kMiB;
constexpr EventId kKernelsDone{0};

class LinkProbe {
 public:
  LinkProbe(Executable& executable, Tier& tier, int threads, const LinkProbeSizes& sizes)
      : executable_(executable), sizes_(sizes) {
    tier.reserve(sizes_.tier_bytes);
    choose_kernel();
    context_ = executable.open({.budget_bytes = kernel_bytes_ + 2 * sizes_.copy_bytes,
                                .planned_bytes = kernel_bytes_ + 2 * sizes_.copy_bytes,
                                .threads = threads});
    context_->bind(StreamKind::offload, tier);
    context_->bind(StreamKind::prefetch, tier);
    context_->measure(true);
  }

  Links run() {
    Links links;
    for (std::int64_t at = 0; at < sizes_.tier_bytes; at += sizes_.copy_bytes)
      copy_out(at);  // the file's blocks exist from here on
    context_->synchronize();
    links.offload_bytes_per_s = rate_alone(StreamKind::offload);
    links.prefetch_bytes_per_s = rate_alone(StreamKind::prefetch);
    links.duplex_share = duplex_share(links);
    const double alone = kernels_beside({}, 0);
    links.offload_slowdown =
        std::max(1.0, kernels_beside(StreamKind::offload, links.offload_bytes_per_s) / alone);
    links.prefetch_slowdown =
        std::max(1.0, kernels_beside(StreamKind::prefetch, links.prefetch_bytes_per_s) / alone);
    return links;
  }

 private:
  // The kernel that takes longest says most about what copies cost; without times, the one that touches most.
  void choose_kernel() {
    const Program& program = executable_.program();
    double longest = -1;
    for (std::size_t k = 0; k < program.kernels.size(); ++k) {
      const Kernel& kernel = program.kernels[k];
      const std::int64_t bytes = working_set_bytes(program, kernel, kernel.candidates[0]);
      const double weight = kernel.candidates[0].seconds + 1e-15 * static_cast<double>(bytes);
      if (bytes > kMostKernelBytes || kernel.phase == Phase::load || weight <= longest) continue;
      longest = weight;
      kernel_ = KernelId(k);
    }
    if (longest < 0) return;
    const Kernel& kernel = program.kernel(kernel_);
    KernelLayout layout = lay_out_alone(program, kernel, kernel.candidates[0]);
    offsets_ = std::move(layout.offsets_bytes);
    kernel_bytes_ = round_up(layout.bytes, 4096);
  }

  void copy_out(std::int64_t tier_offset_bytes) {
    context_->copy(StreamKind::offload, kernel_bytes_, sizes_.copy_bytes, tier_offset_bytes);
  }
  void copy_in(std::int64_t tier_offset_bytes) {
    context_->copy(StreamKind::prefetch, kernel_bytes_ + sizes_.copy_bytes, sizes_.copy_bytes,
                   tier_offset_bytes);
  }

  // Offloads go round in the lower half of the tier, prefetches in the upper: they may run at the same time.
  void copies(StreamKind direction, std::int64_t count) {
    const std::int64_t half_bytes = sizes_.tier_bytes / 2;
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t at = i * sizes_.copy_bytes % half_bytes;
      direction == StreamKind::offload ? copy_out(at) : copy_in(half_bytes + at);
    }
  }

  [[nodiscard]] double copy_seconds(StreamKind direction) const {
    const StreamTimes times = context_->times();
    return direction == StreamKind::offload ? times.offload_seconds : times.prefetch_seconds;
  }

  double rate_alone(StreamKind direction) {
    const double before = copy_seconds(direction);
    const std::int64_t count = sizes_.tier_bytes / sizes_.copy_bytes;
    copies(direction, count);
    context_->synchronize();
    return static_cast<double>(count * sizes_.copy_bytes) / (copy_seconds(direction) - before);
  }

  // Each direction gets as many copies as take it the same time alone, so that they overlap nearly to the
  // end.
  double duplex_share(const Links& links) {
    const auto count = [this](double rate) {
      return std::max<std::int64_t>(
          2, static_cast<std::int64_t>(sizes_.phase_seconds * rate) / sizes_.copy_bytes);
    };
    const std::int64_t out = count(links.offload_bytes_per_s);
    const std::int64_t in = count(links.prefetch_bytes_per_s);
    const double out_before = copy_seconds(StreamKind::offload);
    const double in_before = copy_seconds(StreamKind::prefetch);
    copies(StreamKind::offload, out);
    copies(StreamKind::prefetch, in);
    context_->synchronize();
    const auto share = [this](std::int64_t copied, double rate, double seconds) {
      return static_cast<double>(copied * sizes_.copy_bytes) / rate / seconds;
    };
    const double both =
        share(out, links.offload_bytes_per_s, copy_seconds(StreamKind::offload) - out_before) +
        share(in, links.prefetch_bytes_per_s, copy_seconds(StreamKind::prefetch) - in_before);
    return std::clamp(both / 2, 0.1, 1.0);
  }

  // Seconds of a launch with copies of a direction running all the time, or none.
  double kernels_beside(std::optional<StreamKind> direction, double bytes_per_s) {
    if (!kernel_.valid()) return 1;
    if (launches_ == 0) {
      launch(1);  // makes its code
      context_->synchronize();
      launches_ = std::clamp(static_cast<int>(sizes_.phase_seconds / std::max(1e-6, launch(2))), 3, 3000);
    }
    if (direction)
      copies(*direction,
             2 + static_cast<std::int64_t>(3 * sizes_.phase_seconds * bytes_per_s) / sizes_.copy_bytes);
    return launch(launches_);
  }

  double launch(int count) {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < count; ++i) context_->launch(kernel_, 0, offsets_, {});
    context_->record(kKernelsDone, StreamKind::compute);
    context_->wait_on_host(kKernelsDone);
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() / count;
    context_->synchronize();
    return seconds;
  }

  Executable& executable_;
  LinkProbeSizes sizes_;
  KernelId kernel_;
  std::vector<std::int64_t> offsets_;  // the kernel's arguments
  std::int64_t kernel_bytes_ = 0;      // the arena below: the kernel's; above: what is copied
  std::unique_ptr<DeviceContext> context_;
  int launches_ = 0;
};

}  // namespace

Links measure_links(Executable& executable, Tier& tier, int threads, const LinkProbeSizes& sizes) {
  return LinkProbe(executable, tier, threads, sizes).run();
}

Links cached_links(Executable& executable, Tier& tier, int threads, const std::string& directory,
                   const LinkProbeSizes& sizes) {
  Links links;
  const std::array<std::pair<const char*, double*>, 5> numbers = {{
      {"offload_bytes_per_s", &links.offload_bytes_per_s},
      {"prefetch_bytes_per_s", &links.prefetch_bytes_per_s},
      {"offload_slowdown", &links.offload_slowdown},
      {"prefetch_slowdown", &links.prefetch_slowdown},
      {"duplex_share", &links.duplex_share},
  }};
  const std::string path = directory.empty() ? "" : directory + "/links.json";
  const std::string machine = fmt::format("{}, {}", executable.cost_key(threads), tier.description());
  const MeasuredNumbers known = path.empty() ? MeasuredNumbers{} : read_measured(path, machine);
  const auto is_known = [&](const auto& number) { return known.contains(number.first); };
  if (std::all_of(numbers.begin(), numbers.end(), is_known)) {
    for (const auto& [name, number] : numbers) *number = known.at(name);
    return links;
  }
  links = measure_links(executable, tier, threads, sizes);
  MeasuredNumbers measured;
  for (const auto& [name, number] : numbers) measured[name] = *number;
  if (!path.empty()) write_measured(path, machine, measured);
  return links;
}

}  // namespace vdnn
