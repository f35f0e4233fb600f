#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "plan/live_bytes.h"
#include "plan/liveness.h"
#include "vdnn/bytes.h"
#include "vdnn/explain.h"
#include "vdnn/timeline.h"

namespace vdnn {
namespace {

class Explainer {
 public:
  Explainer(const Program& program, const Plan& plan, const Simulation& simulation)
      : program_(program), plan_(plan), simulation_(simulation) {
    for (const auto& step : plan.steps) {
      if (step.kind == StepKind::launch) launches_.push_back(step.kernel);
    }
    uses_ = find_uses(program, launches_);
  }

  PlanExplanation run() {
    PlanExplanation all;
    const std::size_t peak = peak_launch(plan_);
    const KernelId kernel = plan_.steps[peak].kernel;
    all.peak_kernel = kernel_text(kernel);
    all.residents = residents(peak);
    all.trips = trips();
    all.algorithms = algorithms();
    return all;
  }

 private:
  [[nodiscard]] std::string kernel_text(KernelId id) const { return kernel_name(program_, id); }

  [[nodiscard]] std::vector<PeakResident> residents(std::size_t peak) const {
    const KernelId kernel = plan_.steps[peak].kernel;
    std::vector<PeakResident> all;
    for (const auto& placement : plan_.placements) {
      if (!placement.steps.contains(static_cast<std::int64_t>(peak))) continue;
      if (!placement.buffer.valid()) {
        all.push_back({.name = "workspace",
                       .bytes = placement.bytes,
                       .why = fmt::format("{} runs with it", kernel_text(kernel))});
        continue;
      }
      const Buffer& buffer = program_.buffer(placement.buffer);
      all.push_back({buffer.name, buffer.role, placement.bytes, why_resident(placement, peak)});
    }
    std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
    return all;
  }

  // Between which uses of the buffer the launch falls.
  [[nodiscard]] std::string why_resident(const Placement& placement, std::size_t step) const {
    const auto& uses = uses_[placement.buffer.index()];
    const auto now = static_cast<std::int32_t>(
        std::count_if(plan_.steps.begin(), plan_.steps.begin() + static_cast<std::ptrdiff_t>(step),
                      [](const PlanStep& one) { return one.kind == StepKind::launch; }));
    const auto user = [&](const Use& use) {
      return kernel_text(launches_[static_cast<std::size_t>(use.launch)]);
    };
    const auto next =
        std::find_if(uses.begin(), uses.end(), [&](const Use& use) { return use.launch >= now; });
    if (next != uses.end() && next->launch == now) {
      const char* what = next->reads ? (next->writes ? "updates" : "reads") : "writes";
      return fmt::format("{} {} it", user(*next), what);
    }
    if (program_.buffer(placement.buffer).persistent) return "kept from step to step";
    if (next == uses.end()) return "keeps an address of its own";
    std::string later = fmt::format("next used by {}", user(*next));
    if (next == uses.begin()) return later;
    return fmt::format("used by {}, {}", user(*std::prev(next)), later);
  }

  // The launch that follows a step; none behind the last.
  [[nodiscard]] std::string launch_after(std::size_t step) const {
    for (std::size_t s = step; s < plan_.steps.size(); ++s) {
      if (plan_.steps[s].kind == StepKind::launch) return kernel_text(plan_.steps[s].kernel);
    }
    return "the end of the step";
  }

  [[nodiscard]] std::string launch_that_waits(std::size_t step) const {
    for (std::size_t s = step; s < plan_.steps.size(); ++s) {
      const auto& waits = plan_.steps[s].waits;
      const bool waits_for_it =
          std::find(waits.begin(), waits.end(), static_cast<std::int32_t>(step)) != waits.end();
      if (plan_.steps[s].kind == StepKind::launch && waits_for_it) return kernel_text(plan_.steps[s].kernel);
    }
    return "the end of the step";
  }

  [[nodiscard]] std::vector<Trip> trips() const {
    std::vector<Trip> all;
    std::map<BufferId, std::size_t> open;
    for (std::size_t s = 0; s < plan_.steps.size(); ++s) {
      const PlanStep& step = plan_.steps[s];
      if (step.kind == StepKind::launch) continue;
      if (step.kind == StepKind::offload) {
        open[step.buffer] = all.size();
        const Buffer& buffer = program_.buffer(step.buffer);
        all.push_back({.buffer = buffer.name,
                       .bytes = buffer.placed_bytes(),
                       .tier = step.tier,
                       .offload_nanoseconds = simulation_.step_nanoseconds[s],
                       .leaves_with = launch_after(s),
                       .needed_by = "the next step"});
        continue;
      }
      if (!open.contains(
              step.buffer)) {  // dropped: the tier has it from an earlier trip, or from the step before
        const Buffer& buffer = program_.buffer(step.buffer);
        open[step.buffer] = all.size();
        all.push_back({.buffer = buffer.name, .bytes = buffer.placed_bytes(), .tier = step.tier});
      }
      Trip& trip = all[open.at(step.buffer)];
      trip.prefetch_nanoseconds = simulation_.step_nanoseconds[s];
      trip.needed_by = launch_that_waits(s);
      open.erase(step.buffer);
    }
    return all;
  }

  [[nodiscard]] std::vector<ExplainedAlgorithm> algorithms() const {
    std::map<KernelId, const AlgorithmChoice*> choices;
    for (const auto& choice : plan_.choices) choices[choice.kernel] = &choice;
    std::vector<ExplainedAlgorithm> all;
    for (std::size_t k = 0; k < program_.kernels.size(); ++k) {
      const Kernel& kernel = program_.kernels[k];
      if (kernel.candidates.size() < 2) continue;
      const auto& candidate = kernel.candidates[static_cast<std::size_t>(plan_.assignment[k])];
      const auto found = choices.find(KernelId(k));
      const AlgorithmChoice* choice = found == choices.end() ? nullptr : found->second;
      all.push_back({.kernel = kernel_text(KernelId(k)),
                     .algorithm = candidate_text(candidate),
                     .workspace_bytes = candidate.workspace_bytes,
                     .seconds = candidate.seconds,
                     .stepped_down = choice != nullptr && choice->fastest != plan_.assignment[k],
                     .why = why_algorithm(k, choice)});
    }
    return all;
  }

  static std::string candidate_text(const Candidate& candidate) {
    if (candidate.slices == 1) return candidate.algorithm;
    return fmt::format("{} in {} slices", candidate.algorithm, candidate.slices);
  }

  [[nodiscard]] std::string why_algorithm(std::size_t k, const AlgorithmChoice* choice) const {
    if (choice == nullptr) {
      if (plan_.algorithms == Algorithms::memory) return "the least workspace";
      if (plan_.algorithms == Algorithms::performance) return "the fastest";
      return "given with the request";
    }
    if (choice->fastest == plan_.assignment[k]) return "the fastest, and it fits";
    const auto& fastest = program_.kernels[k].candidates[static_cast<std::size_t>(choice->fastest)];
    if (fastest.workspace_bytes > choice->room_bytes) {
      return fmt::format("{} needs {} of workspace, the budget leaves {}", candidate_text(fastest),
                         format_bytes(fastest.workspace_bytes),
                         format_bytes(std::max<std::int64_t>(0, choice->room_bytes)));
    }
    return fmt::format("{} and its {} of workspace find no place between the buffers",
                       candidate_text(fastest), format_bytes(fastest.workspace_bytes));
  }

  const Program& program_;
  const Plan& plan_;
  const Simulation& simulation_;
  Launches launches_;
  Uses uses_;
};

}  // namespace

PlanExplanation explain_plan(const Program& program, const Plan& plan, const Simulation& simulation) {
  return Explainer(program, plan, simulation).run();
}

}  // namespace vdnn
