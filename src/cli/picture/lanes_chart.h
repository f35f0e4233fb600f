#pragma once

#include <string>
#include <vector>

namespace vdnn::cli {

// What goes on side by side over a step, a lane under a name.
struct LanesChart {
  std::string title;
  double seconds = 0;
  struct Piece {
    double begin_seconds = 0;
    double end_seconds = 0;
    std::string name;
    int colour = 0;  // of svg_style's series
  };
  struct Lane {
    std::string name;
    std::vector<Piece> pieces;  // in order of time
  };
  std::vector<Lane> lanes;
  std::vector<std::pair<int, std::string>> legend;  // colours and what they mean
};

// An element for a page that has svg_style().
std::string to_svg(const LanesChart& chart);

}  // namespace vdnn::cli
