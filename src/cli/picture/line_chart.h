#pragma once

#include <optional>
#include <string>
#include <vector>

namespace vdnn::cli {

// Lines over one axis, with a mark at each point.
struct LineChart {
  std::string title;
  std::string x_unit;
  std::string y_unit;
  struct Point {
    double x = 0;
    double y = 0;
  };
  struct Line {
    std::string name;
    std::vector<Point> points;  // in order of x
  };
  std::vector<Line> lines;  // at most kSeriesColours
  struct Limit {
    std::string name;
    double x = 0;
  };
  std::optional<Limit> limit;  // a line upwards
};

std::string to_svg(const LineChart& chart);  // a document

}  // namespace vdnn::cli
