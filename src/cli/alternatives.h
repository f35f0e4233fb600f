#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "vdnn/plan.h"

namespace vdnn::cli {

// "policies" of a report: what every policy would take in the same budget. With `assignment` all run the same
// kernels, else each its fastest. Times are predicted where `oracle_seconds` is known.
struct AlternativesRequest {
  std::int64_t budget_bytes = 0;
  std::optional<std::vector<int>> assignment;
  std::optional<double> oracle_seconds;
  Links links{};
};
// `program` is what policies choose by; `timed` the same with the times that predictions use.
nlohmann::json alternatives_json(const Program& program, const Program& timed,
                                 const AlternativesRequest& request);

}  // namespace vdnn::cli
