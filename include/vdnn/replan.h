#pragma once

#include <array>
#include <optional>
#include <vector>

#include "vdnn/session.h"

namespace vdnn {

// A plan made for times that turned out otherwise, and the plan for the times as they are: with the same
// kernels, so that every bit of the training stays the same.
struct Replanning {
  Plan plan;
  // Time measured over time assumed, of all that a stream ran; 1 where it ran nothing.
  std::array<double, kStreamCount> ratios{};
  [[nodiscard]] double ratio(StreamKind stream) const { return ratios[index_of(stream)]; }
  double seconds_before = 0;  // a step, predicted with the measured times
  double seconds_now = 0;
};

// Below this measured and assumed times are taken to agree: a ratio from 1 / 1.25 to 1.25.
inline constexpr double kReplanThreshold = 1.25;

// Looks at when the steps of a plan ran in some training steps (the first of a session, which makes code,
// left out). Nothing where the plan's policy does not weigh times, where the times agree with what was
// assumed, or where the other plan would not be faster by a fiftieth.
std::optional<Replanning> replan(Job& job, const Plan& plan, const std::vector<StepTimes>& steps);

}  // namespace vdnn
