#pragma once

#include <span>
#include <vector>

#include "plan/packer.h"
#include "plan/policy.h"

namespace vdnn {

// Steps and stays that follow from decisions; addresses and waits for address reuse come later.
struct Schedule {
  std::vector<PlanStep> steps;
  std::vector<Placement> placements;
  std::int64_t tier_bytes = 0;
  std::int64_t far_tier_bytes = 0;
};

Schedule make_schedule(const PlanProblem& problem, const Decisions& decisions,
                       const std::vector<int>& assignment);

// Gives every placement its address. Persistent ones lie at the bottom. Returns the extent.
using Pack = void (*)(std::span<Block>);
std::int64_t place(const Program& program, std::vector<Placement>& placements, std::int64_t step_count,
                   Pack pack = pack_lowest);

// Adds the waits that make the schedule safe however slow copies are (P2, P10): producers before copies,
// copies before readers, and every user of an address before its next owner. Waits that others imply
// are left out.
void order_accesses(const Program& program, std::vector<PlanStep>& steps,
                    const std::vector<Placement>& placements);

}  // namespace vdnn
