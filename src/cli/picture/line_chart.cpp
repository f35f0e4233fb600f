#include "cli/picture/line_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/picture/svg.h"

namespace vdnn::cli {
namespace {

constexpr double kWidth = 860;
constexpr double kHeight = 420;
constexpr double kLeft = 70;
constexpr double kRight = 20;
constexpr double kTop = 58;
constexpr double kBottom = 40;
constexpr double kMark = 6;

class Drawing {
 public:
  explicit Drawing(const LineChart& chart) : chart_(chart) {
    for (const auto& line : chart.lines) {
      for (const auto& point : line.points) {
        least_x_ = std::min(least_x_, point.x);
        most_x_ = std::max(most_x_, point.x);
        most_y_ = std::max(most_y_, point.y);
        least_y_ = std::min(least_y_, point.y);
      }
    }
    if (chart.limit) {
      least_x_ = std::min(least_x_, chart.limit->x);
      most_x_ = std::max(most_x_, chart.limit->x);
    }
    if (!(least_x_ < most_x_)) most_x_ = least_x_ + 1;
    // From zero, unless that would press all lines together.
    if (least_y_ < 0.5 * most_y_) least_y_ = 0;
    if (!(least_y_ < most_y_)) most_y_ = least_y_ + 1;
    const double margin = 0.06 * (most_y_ - least_y_);
    most_y_ += margin;
    if (least_y_ > 0) least_y_ -= margin;
  }

  std::string run() {
    axes();
    std::vector<std::pair<int, std::string>> meanings;
    for (std::size_t i = 0; i < chart_.lines.size(); ++i) {
      const auto& line = chart_.lines[i];
      const std::string colour = fmt::format("s{}", i);
      meanings.emplace_back(static_cast<int>(i), line.name);
      std::vector<Svg::Point> points;
      for (const auto& point : line.points) {
        points.push_back({x(point.x), y(point.y)});
        svg_.rectangle(x(point.x) - kMark / 2, y(point.y) - kMark / 2, kMark, kMark, colour,
                       fmt::format("{}: {:.4g} {} at {:.4g} {}", line.name, point.y, chart_.y_unit, point.x,
                                   chart_.x_unit));
      }
      svg_.polyline(points, colour);
    }
    svg_.legend(8, 30, meanings);
    if (chart_.limit) {
      svg_.line(x(chart_.limit->x), kTop, x(chart_.limit->x), kHeight - kBottom, "l");
      svg_.text(x(chart_.limit->x), kTop - 4, chart_.limit->name, "t", "middle");
    }
    return svg_.document();
  }

 private:
  [[nodiscard]] double x(double value) const {
    return kLeft + (kWidth - kLeft - kRight) * (value - least_x_) / (most_x_ - least_x_);
  }
  [[nodiscard]] double y(double value) const {
    return kHeight - kBottom - (kHeight - kBottom - kTop) * (value - least_y_) / (most_y_ - least_y_);
  }

  void axes() {
    svg_.text(8, 18, chart_.title, "h");
    const double y_step = round_step(most_y_ - least_y_, 4);
    for (double at = std::ceil(least_y_ / y_step) * y_step; at <= most_y_; at += y_step) {
      svg_.line(kLeft, y(at), kWidth - kRight, y(at), "g");
      svg_.text(kLeft - 6, y(at) + 4, fmt::format("{:.4g} {}", at, chart_.y_unit), "m", "end");
    }
    const double x_step = round_step(most_x_ - least_x_, 5);
    for (double at = std::ceil(least_x_ / x_step) * x_step; at <= most_x_; at += x_step)
      svg_.text(x(at), kHeight - kBottom + 18, fmt::format("{:.4g} {}", at, chart_.x_unit), "m", "middle");
  }

  const LineChart& chart_;
  double least_x_ = HUGE_VAL;
  double most_x_ = -HUGE_VAL;
  double least_y_ = HUGE_VAL;
  double most_y_ = -HUGE_VAL;
  Svg svg_{kWidth, kHeight};
};

}  // namespace

std::string to_svg(const LineChart& chart) {
  return Drawing(chart).run();
}

}  // namespace vdnn::cli
