#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "plan/gaps.h"
#include "plan/recompute.h"

namespace vdnn {

inline constexpr double kHiddenShare = 0.2;

// What a decision about residency rests on, whatever the limit: for one order of launches, its gaps, what
// they and other candidates cost, and what is needed when.
struct ResidencyProblem {
  ResidencyProblem(const PlanProblem& problem, Launches launch_order);

  [[nodiscard]] const Candidate& candidate(KernelId kernel, int index) const {
    return program.kernel(kernel).candidates[static_cast<std::size_t>(index)];
  }
  [[nodiscard]] std::int64_t workspace_bytes(KernelId kernel, int index) const;
  [[nodiscard]] KernelId kernel_of(std::int32_t launch) const {
    return launches[static_cast<std::size_t>(launch)];
  }
  [[nodiscard]] double copy_seconds(std::int64_t bytes, StreamKind stream) const {
    return static_cast<double>(bytes) / links.bytes_per_s(stream);
  }
  [[nodiscard]] double start(std::int32_t launch) const { return starts[static_cast<std::size_t>(launch)]; }
  [[nodiscard]] bool goes_round(const Gap& gap) const { return gap.to >= count; }
  // The launches in which the buffer need not be resident: one range, or one at either end of the step.
  template <class Visit>
  void for_each_range(const Gap& gap, Visit&& visit) const {
    visit(gap.from + 1, std::min(gap.to, count));
    if (goes_round(gap)) visit(0, gap.to - count);
  }

  // Of the copies of one absence.
  struct CopyCost {
    double out_seconds = 0;
    double in_seconds = 0;
    double unhidden_seconds = 0;  // what the kernels meanwhile cannot hide
    // A copy beside kernels still costs a share of its time: it slows them and takes the link from others.
    [[nodiscard]] double seconds(double hidden_share = kHiddenShare) const {
      return unhidden_seconds + hidden_share * (out_seconds + in_seconds);
    }
  };
  [[nodiscard]] CopyCost copy_cost(const Gap& gap, bool copies_out, TierLevel tier = TierLevel::near) const;

  // How a gap's buffer could be recomputed, and how long that takes.
  struct Recomputation {
    ChainFinder::Chain chain;
    double seconds = 0;
  };

  const Program& program;
  Links links;
  Launches launches;
  std::int32_t count;  // of launches
  bool fixed;          // the assignment is given
  std::vector<int> fastest;
  std::vector<std::vector<std::int32_t>> launches_of;  // by kernel
  Gaps gaps;
  std::vector<std::optional<Recomputation>> recomputations;  // by gap
  std::vector<std::int64_t> resident;  // by launch: bytes with nothing away, without workspace
  std::vector<double> starts;          // by launch, and the end: seconds with no stalls

 private:
  void find_recomputations(const Uses& uses);
  void find_starts();
};

}  // namespace vdnn
