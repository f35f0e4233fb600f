#pragma once

#include <optional>
#include <string>
#include <vector>

namespace vdnn::cli {

// Bars side by side, a group under a name.
struct BarChart {
  std::string title;
  std::string unit;  // behind the numbers
  int decimals = 2;
  std::vector<std::string> groups;
  struct Series {
    std::string name;
    std::vector<std::optional<double>> values;  // by group; none: no bar
  };
  std::vector<Series> series;  // at most kSeriesColours
  struct Limit {
    std::string name;
    double value = 0;
  };
  std::optional<Limit> limit;  // a line across
};

std::string to_svg(const BarChart& chart);          // a document
std::string to_svg_element(const BarChart& chart);  // for a page that has svg_style()

}  // namespace vdnn::cli
