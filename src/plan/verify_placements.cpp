#include "plan/verify_placements.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "plan/verify_structure.h"

namespace vdnn {
namespace {

class PlacementCheck {
 public:
  PlacementCheck(const Program& program, const Plan& plan) : program_(program), plan_(plan) {}

  std::vector<std::string> run() {
    check_alignment_and_peak();
    check_overlaps();
    return std::move(violations_);
  }

 private:
  template <class... Args>
  void report(fmt::format_string<Args...> text, Args&&... args) {
    if (violations_.size() < kMostViolations)
      violations_.push_back(fmt::format(text, std::forward<Args>(args)...));
  }

  [[nodiscard]] std::string name(const Placement& placement) const {
    return placement_name(program_, placement);
  }

  void check_alignment_and_peak() {
    std::int64_t highest = 0;
    for (const auto& placement : plan_.placements) {
      const std::int64_t alignment =
          placement.buffer.valid() ? program_.buffer(placement.buffer).alignment_bytes : 64;
      if (placement.offset_bytes % alignment != 0)
        report("P9: {} at {} is not aligned to {}", name(placement), placement.offset_bytes, alignment);
      if (placement.buffer.valid() && placement.bytes < program_.buffer(placement.buffer).placed_bytes()) {
        report("P1: {} has {} bytes, needs {}", name(placement), placement.bytes,
               program_.buffer(placement.buffer).placed_bytes());
      }
      highest = std::max(highest, placement.offset_bytes + placement.bytes);
    }
    if (highest > plan_.budget_bytes)
      report("P3: highest address {} is above the budget {}", highest, plan_.budget_bytes);
    if (highest != plan_.peak_bytes)
      report("P4: highest address {} is not the stated peak {}", highest, plan_.peak_bytes);
  }

  // Sweeps over time with the live placements ordered by address: O(n log n).
  void check_overlaps() {
    std::vector<std::pair<std::int64_t, std::size_t>> begins;
    std::vector<std::pair<std::int64_t, std::size_t>> ends;
    for (std::size_t i = 0; i < plan_.placements.size(); ++i) {
      begins.emplace_back(plan_.placements[i].steps.begin, i);
      ends.emplace_back(plan_.placements[i].steps.end, i);
    }
    std::sort(begins.begin(), begins.end());
    std::sort(ends.begin(), ends.end());
    std::set<std::pair<std::int64_t, std::size_t>> live;
    std::size_t ended = 0;
    for (const auto& [step, i] : begins) {
      for (; ended < ends.size() && ends[ended].first <= step; ++ended) {
        const auto gone = ends[ended].second;
        live.erase({plan_.placements[gone].offset_bytes, gone});
      }
      const Placement& placement = plan_.placements[i];
      if (placement.bytes == 0) continue;
      const auto [at, fresh] = live.insert({placement.offset_bytes, i});
      const auto next = std::next(at);
      if (next != live.end() && next->first < placement.offset_bytes + placement.bytes)
        report_overlap(i, next->second);
      if (at != live.begin()) {
        const Placement& below = plan_.placements[std::prev(at)->second];
        if (below.offset_bytes + below.bytes > placement.offset_bytes)
          report_overlap(i, std::prev(at)->second);
      }
    }
  }

  void report_overlap(std::size_t a, std::size_t b) {
    report("P1: {} and {} overlap at step {}", name(plan_.placements[a]), name(plan_.placements[b]),
           std::max(plan_.placements[a].steps.begin, plan_.placements[b].steps.begin));
  }

  const Program& program_;
  const Plan& plan_;
  std::vector<std::string> violations_;
};

}  // namespace

std::vector<std::string> placement_violations(const Program& program, const Plan& plan) {
  return PlacementCheck(program, plan).run();
}

}  // namespace vdnn
