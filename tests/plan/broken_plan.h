#pragma once

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "plan/sample_network.h"

namespace vdnn::testing {

// A sound plan to be broken by hand.
class VerifyPlan : public ::testing::Test {
 protected:
  [[nodiscard]] std::vector<std::string> verified() const { return verify_plan(program, plan); }

  Placement& stay(std::string_view buffer, std::size_t number = 0) {
    for (auto& placement : plan.placements) {
      if (!placement.buffer.valid() || program.buffer(placement.buffer).name != buffer) continue;
      if (number-- == 0) return placement;
    }
    throw std::out_of_range(std::string(buffer));
  }

  PlanStep& step(std::int64_t number) { return plan.steps[static_cast<std::size_t>(number)]; }

  // Without a copy: every later step moves up by one.
  void remove_step(std::int32_t gone) {
    plan.steps.erase(plan.steps.begin() + gone);
    for (auto& step : plan.steps) {
      std::erase(step.waits, gone);
      for (auto& wait : step.waits) wait -= wait > gone ? 1 : 0;
    }
    for (auto& placement : plan.placements) {
      placement.steps.begin -= placement.steps.begin > gone ? 1 : 0;
      placement.steps.end -= placement.steps.end > gone ? 1 : 0;
    }
  }

  const NamedPlan good{sample_network(), "vdnn-all"};
  const Program& program = good.program();
  Plan plan = good.plan();
};

}  // namespace vdnn::testing
