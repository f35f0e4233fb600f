#include "cli/study/paper_figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "vdnn/bytes.h"

namespace vdnn::cli {
namespace {

struct Range {
  double least = 0;
  double most = 0;
};

double mean(const std::vector<double>& values) {
  if (values.empty()) return 0;
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// Makes the rows; a published figure and ours.
class Figures {
 public:
  explicit Figures(Table& table) : table_(table) {}

  void gigabytes(const std::string& what, double published, double bytes) {
    const double gib = bytes / static_cast<double>(kGiB);
    add(what, fmt::format("{:g} GB", published), fmt::format("{:.1f} GiB, {:.1f} GB", gib, 1e-9 * bytes),
        fmt::format("{:+.1f} %, {:+.1f} %", 100 * (gib / published - 1),
                    100 * (1e-9 * bytes / published - 1)));
  }
  void share(const std::string& what, double published, double ours, const char* certainty = "") {
    add(what, fmt::format("{:.0f} %{}", 100 * published, certainty), fmt::format("{:.1f} %", 100 * ours),
        fmt::format("{:+.1f} points", 100 * (ours - published)));
  }
  void shares(const std::string& what, Range published, const std::vector<double>& ours) {
    if (ours.empty()) return;
    const auto [least, most] = std::minmax_element(ours.begin(), ours.end());
    add(what, fmt::format("{:.0f} to {:.0f} %", 100 * published.least, 100 * published.most),
        fmt::format("{:.1f} to {:.1f} %", 100 * *least, 100 * *most),
        fmt::format("{:+.1f}, {:+.1f} points", 100 * (*least - published.least),
                    100 * (*most - published.most)));
  }
  void add(const std::string& what, const std::string& published, const std::string& ours,
           const std::string& deviation) {
    table_.rows.push_back({what, published, ours, deviation});
  }

 private:
  Table& table_;
};

double best_saving(const NetworkStudy& study, bool managed) {
  double best = 0;
  for (const auto& one : study.cases) {
    if (one.policy.policy == "baseline" || !one.planned) continue;
    const Simulation& run = one.simulation;
    best = std::max(
        best, managed ? 1 - run.managed_average_bytes / static_cast<double>(study.managed_network_wide_bytes)
                      : 1 - run.average_live_bytes / static_cast<double>(study.network_wide_bytes));
  }
  return best;
}

std::vector<double> map(const std::vector<const NetworkStudy*>& studies,
                        const std::function<double(const NetworkStudy&)>& measure) {
  std::vector<double> all;
  for (const auto* study : studies) all.push_back(measure(*study));
  return all;
}

// Speed as a share of the oracle's.
double speed(const NetworkStudy& study, const char* label) {
  if (!study.under(label).planned) return 0;
  return study.oracle_seconds / study.under(label).simulation.step_seconds;
}

double dyn_saving(const NetworkStudy& study) {
  const StudyCase& dyn = study.under("dyn");
  if (!dyn.planned) return 0;
  return 1 - dyn.simulation.managed_average_bytes / static_cast<double>(study.managed_network_wide_bytes);
}

void add_networks_beyond(Figures& figures, const std::vector<const NetworkStudy*>& beyond) {
  figures.shares("average cut beyond 12 GB, at best, managed",
                 {paper::kAverageCutLeast, paper::kAverageCutMost},
                 map(beyond, [](const auto& s) { return best_saving(s, true); }));
  figures.shares("average cut beyond 12 GB, at best, all memory",
                 {paper::kAverageCutLeast, paper::kAverageCutMost},
                 map(beyond, [](const auto& s) { return best_saving(s, false); }));
  figures.shares("average cut beyond 12 GB, dyn, managed", {paper::kAverageCutLeast, paper::kAverageCutMost},
                 map(beyond, dyn_saving));
  figures.shares("slowdown beyond 12 GB, dyn", {paper::kSlowdownLeast - 1, paper::kSlowdownMost - 1},
                 map(beyond, [](const auto& s) { return 1 / speed(s, "dyn") - 1; }));
}

}  // namespace

Table paper_figures(const std::vector<NetworkStudy>& studies, std::int64_t budget_bytes) {
  Table table{
      .name = "figures",
      .title = "The paper's figures and ours",
      .note =
          "Published: Rhu et al., MICRO 2016. Two deviations of an amount: its GB as 2^30 and as 10^9 bytes.",
      .columns = {{"what"}, {"published"}, {"ours"}, {"deviation"}}};
  Figures figures(table);
  std::vector<const NetworkStudy*> conventional;
  std::vector<const NetworkStudy*> beyond;
  std::vector<const NetworkStudy*> within;
  std::vector<const NetworkStudy*> all;
  int untrained = 0;  // under network-wide allocation
  for (const auto& study : studies) {
    all.push_back(&study);
    if (study.network.conventional) conventional.push_back(&study);
    // What cannot be trained at all is in neither.
    if (study.under("dyn").planned)
      (study.network_wide_bytes > budget_bytes ? beyond : within).push_back(&study);
    untrained += study.network_wide_bytes > budget_bytes ? 1 : 0;
    if (study.network.network_wide_gigabytes)
      figures.gigabytes(fmt::format("{} network-wide", study.network.name),
                        *study.network.network_wide_gigabytes, static_cast<double>(study.network_wide_bytes));
  }
  figures.add(fmt::format("networks of ten beyond {}", format_bytes(budget_bytes)), "6",
              std::to_string(untrained), fmt::format("{:+d}", untrained - 6));
  figures.shares("unused, six conventional networks", {paper::kUnusedLeast, paper::kUnusedMost},
                 map(conventional, [](const auto& s) {
                   return 1 - static_cast<double>(s.network_wide.largest_layer_bytes) /
                                  static_cast<double>(s.network_wide_bytes);
                 }));
  for (const auto& study : studies) {
    if (study.network.feature_extraction_share) {
      figures.share(fmt::format("{}: share of feature extraction", study.network.name),
                    *study.network.feature_extraction_share,
                    static_cast<double>(study.managed_network_wide_bytes) /
                        static_cast<double>(study.network_wide_bytes));
    }
  }
  for (const auto& study : studies) {
    if (!study.network.average_saving) continue;
    const std::string what = fmt::format("{}: average saving, at best", study.network.name);
    figures.share(what + ", managed", *study.network.average_saving, best_saving(study, true));
    figures.add(what + ", all memory", "", fmt::format("{:.1f} %", 100 * best_saving(study, false)), "");
  }
  add_networks_beyond(figures, beyond);
  for (const auto& study : studies) {
    if (std::string(study.network.name) == "VGG-16 (256)")
      figures.share(
          fmt::format("{} in {}: speed of the oracle's, dyn", study.network.name, format_bytes(budget_bytes)),
          paper::kVgg256Speed, study.under("dyn").fits ? speed(study, "dyn") : 0);
  }
  figures.share("dyn: throughput of the baseline's where that fits", paper::kDynThroughput,
                mean(map(within, [](const auto& s) { return speed(s, "dyn"); })), " (unconfirmed)");
  figures.share("all (m): performance lost, mean of ten", paper::kAllMemoryOptimalLoss,
                mean(map(all, [](const auto& s) { return 1 - speed(s, "all (m)"); })), " (unconfirmed)");
  return table;
}

}  // namespace vdnn::cli
