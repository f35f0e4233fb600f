#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "plan/live_bytes.h"
#include "plan/policies/residency_problem.h"
#include "vdnn/bytes.h"
#include "vdnn/explain.h"
#include "vdnn/timeline.h"

namespace vdnn {
namespace {

class ChoiceExplainer {
 public:
  ChoiceExplainer(const Program& program, const Plan& plan, const Simulation& simulation, const Links& links)
      : program_(program),
        plan_(plan),
        request_{.budget_bytes = plan.budget_bytes, .assignment = plan.assignment, .links = links},
        uses_(find_uses(program, each_once(program))),
        problem_({program, request_, uses_}, each_once(program)),
        live_(live_bytes_by_step(plan.placements, plan.steps.size())),
        waited_seconds_(seconds_waited_for_copies(plan, simulation.step_nanoseconds)) {
    for (std::size_t s = 0; s < plan.steps.size(); ++s) {
      const PlanStep& step = plan.steps[s];
      if (step.tier == TierLevel::far) far_.insert(step.buffer);
      if (step.kind != StepKind::launch) continue;
      if (first_launch_.size() == step.kernel.index()) first_launch_.push_back(s);
    }
  }

  ChoiceExplanation run() {
    ChoiceExplanation all;
    for (std::size_t g = 0; g < problem_.gaps.all.size(); ++g) {
      if (problem_.gaps.all[g].bytes >= plan_.peak_bytes / 100) all.choices.push_back(explain(g));
    }
    std::stable_sort(all.choices.begin(), all.choices.end(),
                     [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
    all.shrink_for_memory = largest_at_the_peak();
    all.shrink_for_time = longest_waited_for();
    return all;
  }

 private:
  enum class What { kept, moved, recomputed };

  [[nodiscard]] BufferChoice explain(std::size_t g) const {
    const Gap& gap = problem_.gaps.all[g];
    const Buffer& buffer = program_.buffer(gap.buffer);
    BufferChoice choice{
        .buffer = buffer.name,
        .role = buffer.role,
        .bytes = gap.bytes,
        .used_by = kernel_name(program_, KernelId(static_cast<std::size_t>(gap.from))),
        .next_used_by = kernel_name(program_, KernelId(static_cast<std::size_t>(gap.to % problem_.count)))};
    const What what = find(gap);
    const TierLevel tier = far_.contains(gap.buffer) ? TierLevel::far : TierLevel::near;
    const auto cost = problem_.copy_cost(gap, gap.final_at >= 0, tier);
    const auto& recomputation = problem_.recomputations[g];
    choice.excess_if_kept_bytes = what == What::kept ? 0 : excess_if_kept(gap);
    if (what == What::kept) {
      choice.choice = "kept";
      choice.why = fmt::format("the fullest moment meanwhile takes {} of {}", format_bytes(fullest(gap)),
                               format_bytes(plan_.budget_bytes));
      suggest(choice, cost.seconds(), recomputation ? recomputation->seconds : -1);
    } else if (what == What::moved) {
      choice.choice = "moved";
      const auto waited = waited_seconds_.find(gap.buffer);
      choice.why = fmt::format(
          "copies take {:.4f} s, kernels wait {:.4f} s for it; {}", cost.out_seconds + cost.in_seconds,
          waited == waited_seconds_.end() ? 0 : waited->second, kept_instead(choice.excess_if_kept_bytes));
      suggest(choice, -1, recomputation ? recomputation->seconds : -1);
    } else {
      choice.choice = "recomputed";
      const auto [kernels, seconds] = recomputed_in(gap);
      choice.why = fmt::format("{} kernels take {:.4f} s; {}", kernels, seconds,
                               kept_instead(choice.excess_if_kept_bytes));
      suggest(choice, cost.seconds(), -1);
    }
    if (what != What::kept && choice.excess_if_kept_bytes == 0) {
      choice.next_best = "kept";
      choice.next_best_seconds = 0;
    }
    return choice;
  }

  static std::string kept_instead(std::int64_t excess) {
    return excess > 0 ? fmt::format("kept, it would exceed the budget by {}", format_bytes(excess))
                      : "kept, it would find no place beside what copies need to run ahead";
  }

  // Seconds below zero: not possible.
  static void suggest(BufferChoice& choice, double moved, double recomputed) {
    if (moved >= 0 && (recomputed < 0 || moved <= recomputed)) {
      choice.next_best = "moved";
      choice.next_best_seconds = moved;
    } else if (recomputed >= 0) {
      choice.next_best = "recomputed";
      choice.next_best_seconds = recomputed;
    }
  }

  // Steps of the plan from the use before to the use after, both left out; to either end where it goes round.
  template <class Visit>
  void for_each_step(const Gap& gap, Visit&& visit) const {
    const std::size_t from = first_launch_[static_cast<std::size_t>(gap.from)] + 1;
    const bool round = problem_.goes_round(gap);
    const std::size_t to = first_launch_[static_cast<std::size_t>(gap.to % problem_.count)];
    for (std::size_t s = from; s < (round ? plan_.steps.size() : to); ++s) visit(s);
    for (std::size_t s = 0; round && s < to; ++s) visit(s);
  }

  [[nodiscard]] What find(const Gap& gap) const {
    What what = What::kept;
    for_each_step(gap, [&](std::size_t s) {
      const PlanStep& step = plan_.steps[s];
      if (step.kind == StepKind::prefetch && step.buffer == gap.buffer) what = What::moved;
      if (step.kind == StepKind::launch && writes(step.kernel, gap.buffer)) what = What::recomputed;
    });
    return what;
  }

  // Launches in the gap after a kernel's first, and their seconds.
  [[nodiscard]] std::pair<int, double> recomputed_in(const Gap& gap) const {
    std::pair<int, double> sum;
    for_each_step(gap, [&](std::size_t s) {
      const PlanStep& step = plan_.steps[s];
      if (step.kind != StepKind::launch || first_launch_[step.kernel.index()] == s) return;
      ++sum.first;
      sum.second += problem_.candidate(step.kernel, plan_.assignment[step.kernel.index()]).seconds;
    });
    return sum;
  }

  [[nodiscard]] bool writes(KernelId kernel, BufferId buffer) const {
    const auto& views = program_.kernel(kernel).writes;
    return std::any_of(views.begin(), views.end(), [&](const View& view) { return view.buffer == buffer; });
  }

  [[nodiscard]] std::int64_t fullest(const Gap& gap) const {
    std::int64_t most = 0;
    for_each_step(gap, [&](std::size_t s) { most = std::max(most, live_[s]); });
    return most;
  }

  [[nodiscard]] std::int64_t excess_if_kept(const Gap& gap) const {
    std::vector<bool> resident(plan_.steps.size(), false);
    for (const auto& placement : plan_.placements) {
      if (placement.buffer != gap.buffer) continue;
      for (auto s = placement.steps.begin; s < placement.steps.end; ++s)
        resident[static_cast<std::size_t>(s)] = true;
    }
    std::int64_t most = 0;
    for_each_step(gap, [&](std::size_t s) {
      if (!resident[s]) most = std::max(most, live_[s] + gap.bytes);
    });
    return std::max<std::int64_t>(0, most - plan_.budget_bytes);
  }

  // What the kernel at the peak uses itself cannot leave.
  [[nodiscard]] std::string largest_at_the_peak() const {
    const Kernel& kernel = program_.kernel(plan_.steps[peak_launch(plan_)].kernel);
    const Buffer* largest = nullptr;
    for (const auto* views : {&kernel.reads, &kernel.writes}) {
      for (const auto& view : *views) {
        const Buffer& buffer = program_.buffer(view.buffer);
        if (largest == nullptr || buffer.bytes > largest->bytes) largest = &buffer;
      }
    }
    return largest != nullptr ? largest->name : "";
  }

  [[nodiscard]] std::string longest_waited_for() const {
    const auto longest = std::max_element(waited_seconds_.begin(), waited_seconds_.end(),
                                          [](const auto& a, const auto& b) { return a.second < b.second; });
    return longest != waited_seconds_.end() ? program_.buffer(longest->first).name : "";
  }

  const Program& program_;
  const Plan& plan_;
  PlanRequest request_;
  Uses uses_;
  ResidencyProblem problem_;
  std::vector<std::int64_t> live_;             // by step
  std::map<BufferId, double> waited_seconds_;  // by kernels, for the buffer's copies
  std::vector<std::size_t> first_launch_;      // step, by kernel
  std::set<BufferId> far_;                     // that the far tier holds
};

}  // namespace

ChoiceExplanation explain_choices(const Program& program, const Plan& plan, const Simulation& simulation,
                                  const Links& links) {
  return ChoiceExplainer(program, plan, simulation, links).run();
}

}  // namespace vdnn
