#include "cli/picture/lanes_chart.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/picture/svg.h"

namespace vdnn::cli {
namespace {

constexpr double kWidth = 860;
constexpr double kLeft = 70;
constexpr double kRight = 20;
constexpr double kTop = 56;
constexpr double kLane = 34;
constexpr double kLeastPixels = 0.4;  // narrower pieces of one colour are drawn as one

}  // namespace

std::string to_svg(const LanesChart& chart) {
  const double bottom = kTop + kLane * static_cast<double>(chart.lanes.size());
  const auto x = [&](double seconds) {
    return kLeft + (kWidth - kLeft - kRight) * seconds / std::max(1e-12, chart.seconds);
  };
  Svg svg(kWidth, bottom + 30);
  svg.text(8, 18, chart.title, "h");
  svg.legend(8, 30, chart.legend);
  const double step = round_step(chart.seconds, 4);
  for (double at = 0; at <= chart.seconds * 1.0001; at += step) {
    svg.line(x(at), kTop, x(at), bottom, "g");
    svg.text(x(at), bottom + 16, fmt::format("{:g} s", at), "m", "middle");
  }
  for (std::size_t l = 0; l < chart.lanes.size(); ++l) {
    const double top = kTop + kLane * static_cast<double>(l);
    const auto& pieces = chart.lanes[l].pieces;
    svg.text(kLeft - 6, top + kLane / 2 + 4, chart.lanes[l].name, "t", "end");
    for (std::size_t i = 0; i < pieces.size();) {
      std::size_t end = i + 1;
      while (end < pieces.size() && pieces[end].colour == pieces[i].colour &&
             x(pieces[end].end_seconds) - x(pieces[i].begin_seconds) < kLeastPixels)
        ++end;
      const std::string more = end > i + 1 ? fmt::format(" and {} more", end - i - 1) : "";
      svg.rectangle(
          x(pieces[i].begin_seconds), top + 4,
          std::max(0.2, x(pieces[end - 1].end_seconds) - x(pieces[i].begin_seconds)), kLane - 8,
          fmt::format("s{}", pieces[i].colour),
          fmt::format("{}{}: {:.4g} s from {:.4g} s", pieces[i].name, more,
                      pieces[end - 1].end_seconds - pieces[i].begin_seconds, pieces[i].begin_seconds));
      i = end;
    }
  }
  return svg.element();
}

}  // namespace vdnn::cli
