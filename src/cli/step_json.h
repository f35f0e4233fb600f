#pragma once

#include <nlohmann/json.hpp>

#include "vdnn/timeline.h"

namespace vdnn::cli {

// The streams that a plan uses: those of the far tier only where something goes there.
std::vector<StreamKind> streams_of(const Plan& plan);

// One training step as it ran or would run, for `vdnn report`: "streams", "waits", "memory_over_time".
// docs/json.md.
nlohmann::json step_json(const Program& program, const Plan& plan, const StepTimes& times);

// "peak_kernel" and "peak_residents".
nlohmann::json peak_json(const Program& program, const Plan& plan, const Simulation& simulation);

}  // namespace vdnn::cli
