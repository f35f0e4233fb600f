#include "vdnn/bounds.h"

#include <algorithm>
#include <map>
#include <vector>

#include "plan/gaps.h"
#include "vdnn/bytes.h"

namespace vdnn {
namespace {

// Bytes at every kernel of the staged batch, which may never leave, where the kernel does not use it.
std::vector<std::int64_t> fixed_bytes(const Program& program, const Uses& uses) {
  std::vector<std::int64_t> fixed(program.kernels.size(), 0);
  for (std::size_t b = 0; b < program.buffers.size(); ++b) {
    const Buffer& buffer = program.buffers[b];
    if (uses[b].empty()) continue;
    if (!buffer.persistent || buffer.role != Role::input) continue;
    for (auto& bytes : fixed) bytes += buffer.placed_bytes();
    for (const auto& use : uses[b]) fixed[static_cast<std::size_t>(use.launch)] -= buffer.placed_bytes();
  }
  return fixed;
}

std::int64_t leanest_bytes(const Program& program, const Kernel& kernel) {
  std::int64_t least = INT64_MAX;
  for (const auto& candidate : kernel.candidates)
    least = std::min(least, working_set_bytes(program, kernel, candidate));
  return least;
}

// What must come back to a kernel's fullest moment, and how it might.
class ComesBack {
 public:
  ComesBack(const Program& program, const Links& links, std::int64_t kept_in_tier_bytes)
      : program_(program),
        in_bytes_per_s_(links.prefetch_bytes_per_s),
        out_bytes_per_s_(links.offload_bytes_per_s),
        kept_in_tier_bytes_(kept_in_tier_bytes) {
    if (links.near_capacity_bytes == Links{}.near_capacity_bytes) return;
    // Both tiers' links at once.
    in_bytes_per_s_ += links.far_prefetch_bytes_per_s;
    out_bytes_per_s_ += links.far_offload_bytes_per_s;
  }

  // A buffer that could be recomputed: by its last writer at least, which may make others, too.
  void add_recomputable(KernelId writer, std::int64_t bytes) { by_writer_[writer] += bytes; }

  // The least time in which these bytes can come back beside this much computing: `t` where
  //   copied(t) + recomputed(t - compute) >= bytes.
  [[nodiscard]] double seconds(std::int64_t bytes, double compute_seconds) const {
    double low = 0;
    double high = compute_seconds + static_cast<double>(bytes) / in_bytes_per_s_ +
                  static_cast<double>(bytes) / out_bytes_per_s_;
    const std::vector<std::pair<double, double>> best = best_first();
    const auto enough = [&](double t) {
      return copied_bytes(t) + recomputed_bytes(best, t - compute_seconds) >= static_cast<double>(bytes);
    };
    for (int i = 0; i < 60; ++i) {
      const double middle = (low + high) / 2;
      (enough(middle) ? high : low) = middle;
    }
    return low;
  }

 private:
  // In one direction; and out, but for what the tier has.
  [[nodiscard]] double copied_bytes(double seconds) const {
    return std::min(in_bytes_per_s_ * seconds,
                    static_cast<double>(kept_in_tier_bytes_) + out_bytes_per_s_ * seconds);
  }

  // (bytes, seconds) of each writer, the most bytes by second first.
  [[nodiscard]] std::vector<std::pair<double, double>> best_first() const {
    std::vector<std::pair<double, double>> all;
    for (const auto& [kernel, bytes] : by_writer_) {
      double fastest = 1e300;
      for (const auto& candidate : program_.kernel(kernel).candidates)
        fastest = std::min(fastest, candidate.seconds);
      all.emplace_back(static_cast<double>(bytes), fastest);
    }
    std::stable_sort(all.begin(), all.end(),
                     [](const auto& a, const auto& b) { return a.first * b.second > b.first * a.second; });
    return all;
  }

  static double recomputed_bytes(const std::vector<std::pair<double, double>>& best, double seconds) {
    double bytes = 0;
    for (const auto& [made, takes] : best) {
      if (seconds < 0) break;
      bytes += takes <= seconds ? made : made * seconds / takes;
      seconds -= takes;
    }
    return bytes;
  }

  const Program& program_;
  double in_bytes_per_s_;
  double out_bytes_per_s_;
  std::int64_t kept_in_tier_bytes_;
  std::map<KernelId, std::int64_t> by_writer_;
};

// Whoever wrote the buffer last before a kernel in this step.
KernelId last_writer(const std::vector<Use>& uses, std::int32_t kernel) {
  KernelId writer;
  for (const auto& use : uses) {
    if (use.launch >= kernel) break;
    if (use.writes) writer = KernelId(static_cast<std::size_t>(use.launch));
  }
  return writer;
}

}  // namespace

std::int64_t least_memory_bound_bytes(const Program& program) {
  const Uses uses = find_uses(program, each_once(program));
  const std::vector<std::int64_t> fixed = fixed_bytes(program, uses);
  std::int64_t bound = 0;
  for (std::size_t k = 0; k < program.kernels.size(); ++k)
    bound = std::max(bound, fixed[k] + leanest_bytes(program, program.kernels[k]));
  return bound;
}

TimeBound time_bound(const Program& program, std::int64_t budget_bytes, const Links& links) {
  TimeBound bound;
  for (const auto& kernel : program.kernels) {
    double fastest = 1e300;
    for (const auto& candidate : kernel.candidates) {
      if (working_set_bytes(program, kernel, candidate) <= budget_bytes)
        fastest = std::min(fastest, candidate.seconds);
    }
    bound.compute_seconds += fastest < 1e300 ? fastest : 0;
  }
  // The kernel at which most bytes have a value to be used later, beside what it needs itself.
  const Uses uses = find_uses(program, each_once(program));
  const auto live = live_bytes_by_launch(program, uses, std::ssize(program.kernels));
  std::int64_t most = budget_bytes;
  for (std::size_t k = 0; k < program.kernels.size(); ++k) {
    std::int64_t workspace = INT64_MAX;
    for (const auto& candidate : program.kernels[k].candidates)
      workspace = std::min(workspace, round_up(candidate.workspace_bytes, 64));
    if (live[k] + workspace <= most) continue;
    most = live[k] + workspace;
    bound.kernel = KernelId(k);
  }
  if (!bound.kernel.valid()) return bound;
  const auto at = static_cast<std::int32_t>(bound.kernel.index());
  std::int64_t kept_in_tier = 0;
  for (const auto& buffer : program.buffers) kept_in_tier += buffer.persistent ? buffer.placed_bytes() : 0;
  ComesBack comes_back(program, links, kept_in_tier);
  for (std::size_t b = 0; b < program.buffers.size(); ++b) {
    if (program.buffers[b].persistent) continue;
    const KernelId writer = last_writer(uses[b], at);
    if (writer.valid()) comes_back.add_recomputable(writer, program.buffers[b].placed_bytes());
  }
  bound.transfer_seconds = comes_back.seconds(most - budget_bytes, bound.compute_seconds);
  return bound;
}

}  // namespace vdnn
