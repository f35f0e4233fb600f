#include "cli/picture/bar_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/picture/svg.h"

namespace vdnn::cli {
namespace {

constexpr double kWidth = 860;
constexpr double kLeft = 130;  // of the bars; names to the left of it
constexpr double kRight = 90;  // for the numbers behind the longest bar
constexpr double kTop = 62;
constexpr double kBar = 12;
constexpr double kGap = 14;  // between groups

double largest_value(const BarChart& chart) {
  double most = chart.limit ? chart.limit->value : 0;
  for (const auto& series : chart.series) {
    for (const auto& value : series.values) {
      if (value && std::isfinite(*value)) most = std::max(most, *value);
    }
  }
  return most > 0 ? most : 1;
}

Svg drawn(const BarChart& chart) {
  const double group_height = kBar * static_cast<double>(chart.series.size()) + kGap;
  const double bottom = kTop + group_height * static_cast<double>(chart.groups.size());
  const double most = largest_value(chart);
  const auto x_of = [&](double value) { return kLeft + (kWidth - kLeft - kRight) * value / most; };
  Svg svg(kWidth, bottom + 34);
  svg.text(12, 20, chart.title, "h");
  std::vector<std::pair<int, std::string>> meanings;
  for (const auto& series : chart.series)
    meanings.emplace_back(static_cast<int>(meanings.size()), series.name);
  svg.legend(kLeft, 34, meanings);
  const double step = round_step(most, 4);
  for (double at = 0; at <= most * 1.0001; at += step) {
    svg.line(x_of(at), kTop, x_of(at), bottom, "g");
    svg.text(x_of(at), bottom + 16, fmt::format("{:g}", at), "m", "middle");
  }
  svg.text(kWidth - kRight + 12, bottom + 16, chart.unit, "m");
  for (std::size_t g = 0; g < chart.groups.size(); ++g) {
    const double top = kTop + group_height * static_cast<double>(g) + kGap / 2;
    svg.text(kLeft - 8, top + (group_height - kGap) / 2 + 4, chart.groups[g], "t", "end");
    for (std::size_t s = 0; s < chart.series.size(); ++s) {
      const auto& value = chart.series[s].values[g];
      if (!value || !std::isfinite(*value)) continue;
      const double y = top + kBar * static_cast<double>(s);
      const std::string number = fmt::format("{:.{}f}", *value, chart.decimals);
      svg.rectangle(kLeft, y, x_of(*value) - kLeft, kBar - 2, fmt::format("s{}", s),
                    fmt::format("{}, {}: {} {}", chart.groups[g], chart.series[s].name, number, chart.unit));
      svg.text(x_of(*value) + 5, y + kBar - 3, number, "m");
    }
  }
  if (chart.limit) {
    svg.line(x_of(chart.limit->value), kTop, x_of(chart.limit->value), bottom, "l");
    svg.text(x_of(chart.limit->value), kTop - 4, chart.limit->name, "t", "middle");
  }
  return svg;
}

}  // namespace

std::string to_svg(const BarChart& chart) {
  return drawn(chart).document();
}

std::string to_svg_element(const BarChart& chart) {
  return drawn(chart).element();
}

}  // namespace vdnn::cli
