#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace vdnn::cli {

// Bytes by role over a step, stacked, against the budget and against network-wide allocation.
struct MemoryChart {
  std::vector<std::string> roles;  // at most kSeriesColours
  struct Sample {
    double seconds = 0;
    std::vector<double> bytes;  // by role, from this moment on
  };
  std::vector<Sample> samples;
  double step_seconds = 0;
  double budget_bytes = 0;  // 0: none
  double network_wide_bytes = 0;
};

// An element for a page that has svg_style().
std::string to_svg(const MemoryChart& chart);

}  // namespace vdnn::cli
