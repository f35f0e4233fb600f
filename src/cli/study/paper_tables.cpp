#include "cli/study/paper_tables.h"

#include <fmt/format.h>

#include <functional>

#include "cli/picture/bar_chart.h"
#include "cli/study/paper_figures.h"
#include "vdnn/bytes.h"

namespace vdnn::cli {
namespace {

const std::vector<std::string> kOffloading = {"all (m)", "all (p)", "conv (m)", "conv (p)", "dyn"};

double number(std::int64_t value) {
  return static_cast<double>(value);
}

double gib(double bytes) {
  return bytes / static_cast<double>(kGiB);
}

double saving(double used, std::int64_t whole) {
  return 1 - used / number(whole);
}

std::optional<double> deviation(double ours, const std::optional<double>& published) {
  return published ? std::make_optional(ours / *published - 1) : std::nullopt;
}

std::vector<std::string> names(const std::vector<NetworkStudy>& studies) {
  std::vector<std::string> all;
  for (const auto& study : studies) all.emplace_back(study.network.name);
  return all;
}

using Measure = std::function<std::optional<double>(const NetworkStudy&)>;

BarChart::Series series(const std::string& name, const std::vector<NetworkStudy>& studies,
                        const Measure& measure) {
  BarChart::Series result{.name = name};
  for (const auto& study : studies) result.values.push_back(measure(study));
  return result;
}

// A series for each policy.
std::vector<BarChart::Series> by_policy(
    const std::vector<std::string>& labels, const std::vector<NetworkStudy>& studies,
    const std::function<double(const NetworkStudy&, const StudyCase&)>& measure) {
  std::vector<BarChart::Series> all;
  for (const auto& label : labels) {
    all.push_back(series(label, studies, [&](const NetworkStudy& study) -> std::optional<double> {
      const StudyCase& one = study.under(label);
      return one.planned ? std::make_optional(measure(study, one)) : std::nullopt;
    }));
  }
  return all;
}

Exhibit network_wide_exhibit(const std::vector<NetworkStudy>& studies) {
  Table table{.name = "network-wide",
              .title = "Network-wide allocation and how much of it is unused",
              .note =
                  "What a framework reserves for the whole network: without workspace, and with the largest "
                  "workspace of the "
                  "fastest kernels. Deviations from the published figure with its GB read as 2^30 and as "
                  "10^9 bytes. Unused: "
                  "one minus the maps, gradient maps and weights of the largest layer over the whole "
                  "(published: 53 to 79 % over "
                  "the conventional networks). Feature extraction: its layers' share of the whole.",
              .columns = {{"network"},
                          {"without workspace", Unit::bytes},
                          {"with workspace", Unit::bytes},
                          {"published GB"},
                          {"deviation 2^30", Unit::share},
                          {"deviation 10^9", Unit::share},
                          {"unused without workspace", Unit::share},
                          {"unused", Unit::share},
                          {"feature extraction", Unit::share},
                          {"published share", Unit::share}}};
  for (const auto& study : studies) {
    const auto& published = study.network.network_wide_gigabytes;
    const double whole = number(study.network_wide_bytes);
    table.rows.push_back({study.network.name, number(study.network_wide.total_bytes()), whole,
                          published ? fmt::format("{}", *published) : "", deviation(gib(whole), published),
                          deviation(1e-9 * whole, published), study.unused_share_without_workspace,
                          saving(number(study.network_wide.largest_layer_bytes), study.network_wide_bytes),
                          number(study.managed_network_wide_bytes) / whole,
                          study.network.feature_extraction_share});
  }
  BarChart chart{
      .title = "Network-wide allocation, and what its largest layer uses",
      .unit = "GiB",
      .groups = names(studies),
      .series = {series("with workspace", studies,
                        [](const auto& s) { return gib(number(s.network_wide_bytes)); }),
                 series("without workspace", studies,
                        [](const auto& s) { return gib(number(s.network_wide.total_bytes())); }),
                 series("largest layer", studies,
                        [](const auto& s) { return gib(number(s.network_wide.largest_layer_bytes)); })},
      .limit = BarChart::Limit{"12 GiB", 12}};
  return {std::move(table), to_svg(chart)};
}

Exhibit memory_exhibit(const std::vector<NetworkStudy>& studies) {
  Table table{.name = "memory",
              .title = "Memory in use, maximum and average over a step",
              .note =
                  "Live bytes, the average weighted by time. Savings are averages against network-wide "
                  "allocation with the "
                  "fastest kernels: of all memory, which is what a user pays for, and of what vDNN manages, "
                  "the feature-extraction layers, "
                  "on both sides. The published savings are of managed memory, \"up to\", so of the policy "
                  "that saves most.",
              .columns = {{"network"},
                          {"policy"},
                          {"maximum", Unit::bytes},
                          {"average", Unit::bytes},
                          {"saving of all memory", Unit::share},
                          {"managed maximum", Unit::bytes},
                          {"managed average", Unit::bytes},
                          {"saving of managed", Unit::share},
                          {"published", Unit::share},
                          {"deviation in points", Unit::points}}};
  for (const auto& study : studies) {
    for (const auto& label : kOffloading) {
      const StudyCase& one = study.under(label);
      if (!one.planned) continue;
      const Simulation& run = one.simulation;
      const double managed = saving(run.managed_average_bytes, study.managed_network_wide_bytes);
      const auto& published = study.network.average_saving;
      table.rows.push_back({study.network.name, label, number(run.peak_live_bytes), run.average_live_bytes,
                            saving(run.average_live_bytes, study.network_wide_bytes),
                            number(run.managed_peak_bytes), run.managed_average_bytes, managed, published,
                            published ? std::make_optional(managed - *published) : std::nullopt});
    }
  }
  BarChart chart{.title = "Average saving of managed memory against network-wide allocation",
                 .unit = "%",
                 .decimals = 1,
                 .groups = names(studies),
                 .series = by_policy(kOffloading, studies, [](const auto& study, const StudyCase& one) {
                   return 100 *
                          saving(one.simulation.managed_average_bytes, study.managed_network_wide_bytes);
                 })};
  return {std::move(table), to_svg(chart)};
}

Exhibit offload_exhibit(const std::vector<NetworkStudy>& studies) {
  Table table{.name = "offload",
              .title = "Bytes offloaded in a step",
              .note =
                  "As many come back. By arithmetic: from the layers' shapes alone, for GoogLeNet without "
                  "LRN, auxiliary heads "
                  "and copies of concatenations; ours moves saved pool indices too.",
              .columns = {{"network"},
                          {"all", Unit::bytes},
                          {"all by arithmetic", Unit::bytes},
                          {"deviation of all", Unit::share},
                          {"conv", Unit::bytes},
                          {"conv by arithmetic", Unit::bytes},
                          {"deviation of conv", Unit::share},
                          {"dyn", Unit::bytes}}};
  for (const auto& study : studies) {
    const auto offloaded = [&](const char* label) {
      return number(study.under(label).simulation.offloaded_bytes);
    };
    Cell dyn;
    if (study.under("dyn").planned) dyn.number = offloaded("dyn");
    const double all = 1e9 * study.network.offload_all_gigabytes;
    const double conv = 1e9 * study.network.offload_conv_gigabytes;
    table.rows.push_back({study.network.name, offloaded("all (m)"), all, offloaded("all (m)") / all - 1,
                          offloaded("conv (m)"), conv, offloaded("conv (m)") / conv - 1, dyn});
  }
  BarChart chart{
      .title = "Offloaded in a step",
      .unit = "GiB",
      .groups = names(studies),
      .series = by_policy({"all (m)", "conv (m)", "dyn"}, studies, [](const auto&, const StudyCase& one) {
        return gib(number(one.simulation.offloaded_bytes));
      })};
  return {std::move(table), to_svg(chart)};
}

double slowdown(const NetworkStudy& study, const StudyCase& one) {
  return one.simulation.step_seconds / study.oracle_seconds;
}

Exhibit performance_exhibit(const std::vector<NetworkStudy>& studies) {
  const std::vector<std::string> labels = {"base (m)", "all (m)", "all (p)", "conv (m)", "conv (p)", "dyn"};
  Table table{.name = "performance",
              .title = "Time of a step against the oracle's",
              .note =
                  "Predicted; 1.000 is the oracle: unlimited memory and the fastest kernels, which is base "
                  "(p). Also of "
                  "policies that do not fit (see trainable).",
              .columns = {{"network"}, {"oracle", Unit::seconds}}};
  for (const auto& label : labels) table.columns.push_back({label, Unit::ratio});
  table.columns.push_back({"pass of dyn"});
  for (const auto& study : studies) {
    std::vector<Cell> row = {study.network.name, study.oracle_seconds};
    for (const auto& label : labels) {
      const StudyCase& one = study.under(label);
      row.emplace_back(one.planned ? std::make_optional(slowdown(study, one)) : std::nullopt);
    }
    row.emplace_back(study.under("dyn").pass);
    table.rows.push_back(std::move(row));
  }
  BarChart chart{.title = "Speed, as a share of the oracle's",
                 .unit = "%",
                 .decimals = 1,
                 .groups = names(studies),
                 .series = by_policy(labels, studies, [](const NetworkStudy& study, const StudyCase& one) {
                   return 100 / slowdown(study, one);
                 })};
  return {std::move(table), to_svg(chart)};
}

Exhibit trainable_exhibit(const std::vector<NetworkStudy>& studies, std::int64_t budget_bytes) {
  Table table{.name = "trainable",
              .title = fmt::format("Trainable in {}", format_bytes(budget_bytes)),
              .note =
                  "What each policy takes at its peak, in GiB, with the oracle's kernels (p) or without "
                  "workspace (m); - marks "
                  "what does not fit.",
              .columns = {{"network"}, {"network-wide"}}};
  for (const auto& policy : study_policies()) table.columns.push_back({policy.label});
  for (const auto& study : studies) {
    const auto cell = [&](std::int64_t bytes) {
      return fmt::format("{:.2f}{}", gib(number(bytes)), bytes <= budget_bytes ? "" : " -");
    };
    std::vector<Cell> row = {study.network.name, cell(study.network_wide_bytes)};
    for (const auto& one : study.cases) row.emplace_back(cell(one.peak_bytes));
    table.rows.push_back(std::move(row));
  }
  BarChart chart{
      .title = "What the policies take at their peak",
      .unit = "GiB",
      .groups = names(studies),
      .series = by_policy({"base (p)", "all (m)", "all (p)", "conv (p)", "dyn"}, studies,
                          [](const auto&, const StudyCase& one) { return gib(number(one.peak_bytes)); }),
      .limit = BarChart::Limit{format_bytes(budget_bytes), gib(number(budget_bytes))}};
  return {std::move(table), to_svg(chart)};
}

}  // namespace

std::vector<Exhibit> paper_exhibits(const std::vector<NetworkStudy>& studies, std::int64_t budget_bytes) {
  return {{paper_figures(studies, budget_bytes), ""},
          network_wide_exhibit(studies),
          trainable_exhibit(studies, budget_bytes),
          memory_exhibit(studies),
          offload_exhibit(studies),
          performance_exhibit(studies)};
}

}  // namespace vdnn::cli
