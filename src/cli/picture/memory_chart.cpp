#include "cli/picture/memory_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "cli/picture/svg.h"
#include "vdnn/bytes.h"

namespace vdnn::cli {
namespace {

constexpr double kWidth = 860;
constexpr double kHeight = 380;
constexpr double kLeft = 70;
constexpr double kRight = 20;
constexpr double kTop = 62;
constexpr double kBottom = 30;
constexpr double kMostPoints = 1500;  // more than pixels across

double total(const MemoryChart::Sample& sample) {
  return std::accumulate(sample.bytes.begin(), sample.bytes.end(), 0.0);
}

// Of samples closer together than a point can show, the one with the most bytes.
std::vector<MemoryChart::Sample> thinned(const MemoryChart& chart) {
  const double slot = std::max(1e-12, chart.step_seconds) / kMostPoints;
  std::vector<MemoryChart::Sample> kept;
  std::int64_t last_slot = -1;
  for (const auto& sample : chart.samples) {
    const auto at = static_cast<std::int64_t>(std::clamp(sample.seconds / slot, 0.0, kMostPoints));
    if (at != last_slot) {
      kept.push_back(sample);
    } else if (total(sample) > total(kept.back())) {
      kept.back().bytes = sample.bytes;
    }
    last_slot = at;
  }
  return kept;
}

class Drawing {
 public:
  explicit Drawing(const MemoryChart& chart) : chart_(chart), samples_(thinned(chart)) {
    for (const auto& sample : samples_) most_ = std::max(most_, total(sample));
    most_ = std::max(most_, chart.budget_bytes);
    // Where network-wide allocation is many times the budget, a line for it would flatten all else.
    network_wide_in_sight_ = chart.network_wide_bytes <= 2.5 * most_;
    if (network_wide_in_sight_) most_ = std::max(most_, chart.network_wide_bytes);
    most_ = std::max(most_ * 1.05, 1.0);
  }

  std::string run() {
    axes();
    std::vector<std::pair<int, std::string>> meanings;
    for (const auto& role : chart_.roles) meanings.emplace_back(static_cast<int>(meanings.size()), role);
    svg_.legend(8, 30, meanings);
    for (std::size_t role = chart_.roles.size(); role-- > 0;) area(role);
    if (chart_.budget_bytes > 0) limit(chart_.budget_bytes, "budget");
    if (network_wide_in_sight_) {
      limit(chart_.network_wide_bytes, "network-wide");
    } else {
      svg_.text(kWidth - kRight, kTop - 6,
                fmt::format("network-wide allocation: {}, above this chart ↑",
                            size_text(chart_.network_wide_bytes)),
                "m", "end");
    }
    return svg_.element();
  }

 private:
  static std::string size_text(double bytes) {
    constexpr double kMost = 9e18;
    return format_bytes(static_cast<std::int64_t>(std::clamp(bytes, 0.0, kMost)));
  }
  [[nodiscard]] double x(double seconds) const {
    return kLeft + (kWidth - kLeft - kRight) * seconds / std::max(1e-12, chart_.step_seconds);
  }
  [[nodiscard]] double y(double bytes) const {
    return kHeight - kBottom - (kHeight - kBottom - kTop) * bytes / most_;
  }

  void axes() {
    svg_.text(8, 18, "Memory over one step, by role", "h");
    const double gib = static_cast<double>(kGiB);
    const bool large = most_ >= gib;
    const double unit = large ? gib : static_cast<double>(kMiB);
    const double step = round_step(most_ / unit, 4);
    for (double at = 0; at * unit <= most_; at += step) {
      svg_.line(kLeft, y(at * unit), kWidth - kRight, y(at * unit), "g");
      svg_.text(kLeft - 6, y(at * unit) + 4, fmt::format("{:g} {}", at, large ? "GiB" : "MiB"), "m", "end");
    }
    const double seconds_step = round_step(chart_.step_seconds, 4);
    for (double at = 0; at <= chart_.step_seconds * 1.0001; at += seconds_step)
      svg_.text(x(at), kHeight - kBottom + 16, fmt::format("{:g} s", at), "m", "middle");
  }

  // A role's bytes on top of those before it.
  void area(std::size_t role) {
    std::vector<Svg::Point> upper;
    std::vector<Svg::Point> lower;
    double largest = 0;
    for (std::size_t i = 0; i < samples_.size(); ++i) {
      const auto& bytes = samples_[i].bytes;
      const double below =
          std::accumulate(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(role), 0.0);
      const double end = i + 1 < samples_.size() ? samples_[i + 1].seconds : chart_.step_seconds;
      for (const double at : {samples_[i].seconds, end}) {
        upper.push_back({x(at), y(below + bytes[role])});
        lower.push_back({x(at), y(below)});
      }
      largest = std::max(largest, bytes[role]);
    }
    if (largest <= 0) return;
    upper.insert(upper.end(), lower.rbegin(), lower.rend());
    svg_.area(upper, fmt::format("s{}", role),
              fmt::format("{}: at most {}", chart_.roles[role], size_text(largest)));
  }

  void limit(double bytes, const std::string& name) {
    svg_.line(kLeft, y(bytes), kWidth - kRight, y(bytes), "l");
    svg_.text(kWidth - kRight, y(bytes) - 4, fmt::format("{} {}", name, size_text(bytes)), "t", "end");
  }

  const MemoryChart& chart_;
  std::vector<MemoryChart::Sample> samples_;
  double most_ = 0;
  bool network_wide_in_sight_ = false;
  Svg svg_{kWidth, kHeight};
};

}  // namespace

std::string to_svg(const MemoryChart& chart) {
  return Drawing(chart).run();
}

}  // namespace vdnn::cli
