#include "cli/html_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/output.h"
#include "cli/picture/bar_chart.h"
#include "cli/picture/lanes_chart.h"
#include "cli/picture/memory_chart.h"
#include "cli/picture/svg.h"
#include "cli/report.h"
#include "vdnn/bytes.h"
#include "vdnn/error.h"
#include "vdnn/version.h"

namespace vdnn::cli {
namespace {

using nlohmann::json;

constexpr std::size_t kResidentsShown = 24;

constexpr const char* kStyle = R"(
:root{color-scheme:light dark}
body{font:16px/1.5 system-ui,sans-serif;margin:0 auto;max-width:920px;padding:16px;background:#fff;color:#1a1a1a}
h1{font-size:24px;margin:8px 0}h2{font-size:18px;margin:28px 0 8px}p.m{color:#666}
.cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(150px,1fr));gap:10px}
.card{border:1px solid #ddd;border-radius:8px;padding:8px 12px}.card b{display:block;font-size:20px}
.scroll{overflow-x:auto}svg{width:100%;min-width:680px;height:auto;display:block}
table{border-collapse:collapse;width:100%;font-size:14px}th,td{text-align:left;padding:4px 10px 4px 0;border-bottom:1px solid #ddd;
white-space:nowrap}td.w{white-space:normal;min-width:18em}.n{text-align:right}
.yes{color:#00794f}.no{color:#c00}
@media(prefers-color-scheme:dark){body{background:#161616;color:#eee}p.m{color:#aaa}.card,th,td{border-color:#3a3a3a}
.yes{color:#4fd6a5}.no{color:#ff6b6b}}
)";

std::string size_text(const json& bytes) {
  constexpr double kMost = 9e18;
  const auto number = bytes.get<double>();
  if (!(number >= 0 && number <= kMost))
    throw ModelError(fmt::format("{} is no number of bytes", bytes.dump()));
  return format_bytes(static_cast<std::int64_t>(number));
}

std::string card(const std::string& name, const std::string& value, const std::string& more = {}) {
  return fmt::format("<div class=\"card\">{}<b>{}</b>{}</div>\n", escaped(name), escaped(value),
                     escaped(more));
}

bool has_number(const json& in, const char* key) {
  return in.contains(key) && in.at(key).is_number();
}

class Page {
 public:
  explicit Page(const json& run) : run_(run) {}

  std::string text() {
    std::string body = heading();
    if (run_.contains("peak_bytes")) body += cards();
    if (run_.contains("memory_over_time")) body += memory() + lanes();
    if (run_.contains("peak_residents")) body += residents();
    if (run_.contains("policies")) body += policies();
    return fmt::format(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" "
        "content=\"width=device-width, "
        "initial-scale=1\">\n<title>{}</title>\n<style>{}{}</style>\n</head>\n<body>\n{}"
        "<p class=\"m\">Made by vdnn {}.</p>\n</body>\n</html>\n",
        escaped(title()), kStyle, svg_style(), body, version());
  }

 private:
  [[nodiscard]] std::string title() const {
    return fmt::format("{}, batch {}", run_.at("model").get<std::string>(),
                       run_.at("batch").get<std::int64_t>());
  }

  [[nodiscard]] std::string heading() const {
    std::string about;
    const auto say = [&](const char* key, const char* before) {
      if (run_.contains(key) && run_.at(key).is_string())
        about += fmt::format("{}{}{}", about.empty() ? "" : ", ", before, run_.at(key).get<std::string>());
    };
    say("policy", "policy ");
    say("device", "on ");
    about += run_.contains("predicted_seconds") ? ", as planned" : ", as run";
    return fmt::format("<h1>{}</h1>\n<p class=\"m\">{}</p>\n", escaped(title()), escaped(about));
  }

  [[nodiscard]] std::string cards() const {
    std::string all = "<div class=\"cards\">\n";
    const double peak = run_.at("peak_bytes").get<double>();
    all += card("peak", size_text(run_.at("peak_bytes")),
                "of a budget of " + size_text(run_.at("budget_bytes")));
    all += card("network-wide", size_text(run_.at("network_wide_bytes")),
                fmt::format("{:.2f} x the peak", run_.at("network_wide_bytes").get<double>() / peak));
    if (has_number(run_, "predicted_seconds")) {
      all += card("predicted step", seconds_text(run_.at("predicted_seconds").get<double>()),
                  fmt::format("{:.3f} x the oracle", run_.at("slowdown").get<double>()));
    } else if (run_.contains("step_seconds")) {
      all += card("step", seconds_text(typical_seconds(run_.at("step_seconds").get<std::vector<double>>())),
                  fmt::format("median of {}", run_.at("steps").dump()));
    }
    all += card(
        "moved", size_text(run_.at("offloaded_bytes")),
        fmt::format("out; {:.1f} % of copy time hidden", 100 * run_.at("hidden_copy_share").get<double>()));
    if (has_number(run_, "resident_bytes"))
      all += card("process", size_text(run_.at("resident_bytes")), "resident at most");
    if (has_number(run_, "least_budget_bytes"))
      all += card("least budget", size_text(run_.at("least_budget_bytes")), "of this policy");
    return all + "</div>\n";
  }

  // The end of the step's last piece of work.
  [[nodiscard]] double step_seconds() const {
    double end = 0;
    for (const auto& [name, pieces] : run_.at("streams").items()) {
      for (const auto& piece : pieces) end = std::max(end, piece.at(1).get<double>());
    }
    return end;
  }

  [[nodiscard]] std::string memory() const {
    const json& over_time = run_.at("memory_over_time");
    MemoryChart chart{.roles = over_time.at("roles").get<std::vector<std::string>>(),
                      .step_seconds = step_seconds(),
                      .budget_bytes = run_.at("budget_bytes").get<double>(),
                      .network_wide_bytes = run_.at("network_wide_bytes").get<double>()};
    if (chart.roles.empty() || chart.roles.size() > kSeriesColours)
      throw ModelError(fmt::format("memory_over_time has {} roles", chart.roles.size()));
    for (const auto& row : over_time.at("samples")) {
      MemoryChart::Sample sample{.seconds = row.at(0).get<double>()};
      for (std::size_t role = 0; role < chart.roles.size(); ++role)
        sample.bytes.push_back(row.at(role + 1).get<double>());
      chart.samples.push_back(std::move(sample));
    }
    // A run that asked for all there is has a budget that says nothing.
    const double most = std::max(run_.at("peak_bytes").get<double>(), chart.network_wide_bytes);
    if (chart.budget_bytes > 2 * most) chart.budget_bytes = 0;
    return "<h2>Memory</h2>\n<div class=\"scroll\">" + to_svg(chart) + "</div>\n";
  }

  [[nodiscard]] std::string lanes() const {
    enum Colour { forward = 0, copy = 1, backward = 2, other = 7, wait = 5 };
    LanesChart chart{.title = "What the streams do",
                     .seconds = step_seconds(),
                     .legend = {{forward, "forward"},
                                {backward, "backward"},
                                {other, "load and update"},
                                {copy, "copy"},
                                {wait, "waits"}}};
    for (const auto stream : kStreamKinds) {
      const std::string name(stream_name(stream));
      if (!run_.at("streams").contains(name) && stream != StreamKind::compute) continue;
      auto& lane = chart.lanes.emplace_back(LanesChart::Lane{.name = name});
      for (const auto& piece : run_.at("streams").at(name)) {
        LanesChart::Piece one{piece.at(0).get<double>(), piece.at(1).get<double>(),
                              piece.at(2).get<std::string>(), other};
        if (one.name.ends_with(" forward")) one.colour = forward;
        if (one.name.ends_with(" backward")) one.colour = backward;
        if (stream != StreamKind::compute) one.colour = copy;
        lane.pieces.push_back(std::move(one));
      }
      // A copy stream that waits for something to copy costs nothing.
      for (const auto& piece : run_.at("waits")) {
        if (piece.at(0).get<std::string>() != name || stream != StreamKind::compute) continue;
        lane.pieces.push_back({piece.at(1).get<double>(), piece.at(2).get<double>(),
                               "waits for " + piece.at(3).get<std::string>(), wait});
      }
      std::stable_sort(lane.pieces.begin(), lane.pieces.end(),
                       [](const auto& a, const auto& b) { return a.begin_seconds < b.begin_seconds; });
    }
    return "<h2>Time</h2>\n<div class=\"scroll\">" + to_svg(chart) + "</div>\n";
  }

  [[nodiscard]] std::string residents() const {
    const json& all = run_.at("peak_residents");
    std::string rows;
    double rest = 0;
    std::size_t shown = 0;
    for (const auto& one : all) {
      if (shown == kResidentsShown) {
        rest += one.at("bytes").get<double>();
        continue;
      }
      ++shown;
      rows +=
          fmt::format("<tr><td class=\"n\">{}</td><td>{}</td><td>{}</td><td class=\"w\">{}</td></tr>\n",
                      size_text(one.at("bytes")), escaped(one.at("name").get<std::string>()),
                      escaped(one.at("role").get<std::string>()), escaped(one.at("why").get<std::string>()));
    }
    if (all.size() > shown)
      rows += fmt::format("<tr><td class=\"n\">{}</td><td colspan=\"3\">in {} smaller ones</td></tr>\n",
                          size_text(rest), all.size() - shown);
    return fmt::format(
        "<h2>In memory at the peak</h2>\n<p class=\"m\">While {} runs.</p>\n<div "
        "class=\"scroll\"><table>\n<tr><th "
        "class=\"n\">bytes</th><th>buffer</th><th>role</th><th>why</th></tr>\n{}</table></div>\n",
        escaped(run_.at("peak_kernel").get<std::string>()), rows);
  }

  // What a policy's step takes, measured or predicted; empty where neither is known.
  static std::optional<double> seconds_of(const json& policy) {
    for (const char* key : {"median_step_seconds", "predicted_seconds"}) {
      if (has_number(policy, key) && policy.at(key).get<double>() > 0) return policy.at(key).get<double>();
    }
    return {};
  }

  [[nodiscard]] std::string policies() const {
    BarChart chart{.title = "Step of each policy",
                   .unit = "s",
                   .decimals = 3,
                   .series = {{.name = "seconds", .values = {}}}};
    std::string rows;
    for (const auto& policy : run_.at("policies")) {
      const std::string name =
          policy_label(policy.at("policy").get<std::string>(), policy.value("algorithms", std::string()));
      const bool fits = policy.at("fits").get<bool>();
      const char* bytes = policy.contains("peak_bytes") ? "peak_bytes" : "least_budget_bytes";
      const auto seconds = seconds_of(policy);
      const char* ratio = has_number(policy, "ratio") ? "ratio" : "slowdown";
      rows += fmt::format(
          "<tr><td>{}</td><td class=\"{}\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td "
          "class=\"n\">{}</td></tr>\n",
          escaped(name), fits ? "yes" : "no", fits ? "fits" : "does not fit", size_text(policy.at(bytes)),
          seconds ? seconds_text(*seconds) : "",
          has_number(policy, ratio) ? fmt::format("{:.3f}", policy.at(ratio).get<double>()) : "");
      if (!seconds) continue;
      chart.groups.push_back(name);
      chart.series[0].values.emplace_back(*seconds);
    }
    return fmt::format(
        "<h2>Policies</h2>\n<div class=\"scroll\"><table>\n<tr><th>policy</th><th></th><th "
        "class=\"n\">peak</th><th "
        "class=\"n\">step</th><th class=\"n\">x oracle</th></tr>\n{}</table></div>\n{}",
        rows, chart.groups.empty() ? "" : "<div class=\"scroll\">" + to_svg_element(chart) + "</div>\n");
  }

  const json& run_;
};

}  // namespace

std::string html_report(const json& run, const std::string& where) {
  try {
    if (run.contains("error"))
      throw ModelError(fmt::format("there is nothing to show: {}", run.at("error").dump()));
    return Page(run).text();
  } catch (const json::exception& error) {
    throw ModelError(
        fmt::format("{}: not what vdnn plan, train or bench write with --json: {}", where, error.what()));
  } catch (const ModelError& error) {
    throw ModelError(fmt::format("{}: {}", where, error.what()));
  }
}

}  // namespace vdnn::cli
