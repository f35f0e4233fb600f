#include "plan/verify_structure.h"

#include <fmt/format.h>

#include <algorithm>

namespace vdnn {
namespace {

class StructureCheck {
 public:
  StructureCheck(const Program& program, const Plan& plan) : program_(program), plan_(plan) {}

  std::vector<std::string> run() {
    if (plan_.program_fingerprint != fingerprint(program_)) {
      report("structure: the plan is for another program");
      return std::move(violations_);
    }
    if (plan_.assignment.size() != program_.kernels.size())
      report("structure: assignment of {} kernels, program has {}", plan_.assignment.size(),
             program_.kernels.size());
    for (std::size_t k = 0; k < std::min(plan_.assignment.size(), program_.kernels.size()); ++k) {
      if (plan_.assignment[k] < 0 ||
          static_cast<std::size_t>(plan_.assignment[k]) >= program_.kernels[k].candidates.size()) {
        report("structure: {} has no candidate {}", program_.kernels[k].name, plan_.assignment[k]);
      }
    }
    for (const auto& choice : plan_.choices) {
      const bool known = choice.kernel.index() < program_.kernels.size();
      if (!known || choice.fastest < 0 ||
          static_cast<std::size_t>(choice.fastest) >= program_.kernel(choice.kernel).candidates.size()) {
        report("structure: a choice of candidate {} for kernel {}", choice.fastest, choice.kernel.index());
      }
    }
    check_steps();
    check_placements();
    return std::move(violations_);
  }

 private:
  void check_steps() {
    std::size_t next_kernel = 0;
    for (std::size_t s = 0; s < plan_.steps.size(); ++s) {
      const PlanStep& step = plan_.steps[s];
      const bool launch = step.kind == StepKind::launch;
      // In order for the first time; once launched, a kernel may come again.
      if (launch && step.kernel.index() == next_kernel) {
        ++next_kernel;
      } else if (launch && step.kernel.index() > next_kernel) {
        report("structure: step {} launches out of order", s);
      }
      if (!launch && step.buffer.index() >= program_.buffers.size())
        report("structure: step {} moves no buffer", s);
      for (const auto wait : step.waits) {
        if (wait < 0 || wait >= static_cast<std::int64_t>(s))
          report("P10: step {} waits for step {}, which is not before it", s, wait);
      }
    }
    if (next_kernel != program_.kernels.size())
      report("structure: {} of {} kernels are launched", next_kernel, program_.kernels.size());
  }

  void check_placements() {
    const auto step_count = static_cast<std::int64_t>(plan_.steps.size());
    for (const auto& placement : plan_.placements) {
      if (placement.buffer.valid() && placement.buffer.index() >= program_.buffers.size()) {
        report("structure: a placement of no buffer");
      } else if (placement.steps.begin < 0 || placement.steps.empty() || placement.steps.end > step_count) {
        report("structure: {} is placed in steps [{}, {}) of {}", placement_name(program_, placement),
               placement.steps.begin, placement.steps.end, step_count);
      }
      const bool in_step = placement.steps.begin >= 0 && placement.steps.begin < step_count;
      if (!placement.buffer.valid() && in_step &&
          plan_.steps[static_cast<std::size_t>(placement.steps.begin)].kind != StepKind::launch)
        report("structure: {}, which launches nothing", placement_name(program_, placement));
      if (placement.offset_bytes < 0 || placement.bytes < 0 ||
          placement.offset_bytes > INT64_MAX - placement.bytes)
        report("P3: {} lies at [{}, +{})", placement_name(program_, placement), placement.offset_bytes,
               placement.bytes);
    }
  }

  template <class... Args>
  void report(fmt::format_string<Args...> text, Args&&... args) {
    if (violations_.size() < kMostViolations)
      violations_.push_back(fmt::format(text, std::forward<Args>(args)...));
  }

  const Program& program_;
  const Plan& plan_;
  std::vector<std::string> violations_;
};

}  // namespace

std::string placement_name(const Program& program, const Placement& placement) {
  if (placement.buffer.valid()) {
    const bool known = placement.buffer.index() < program.buffers.size();
    return known ? program.buffer(placement.buffer).name : fmt::format("buffer {}", placement.buffer.index());
  }
  return fmt::format("workspace of step {}", placement.steps.begin);
}

std::vector<std::string> structure_violations(const Program& program, const Plan& plan) {
  return StructureCheck(program, plan).run();
}

}  // namespace vdnn
