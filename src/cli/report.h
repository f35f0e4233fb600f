#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/run_options.h"

namespace vdnn::cli {

// "peak_bytes_by_role" of every report.
nlohmann::json bytes_by_role_json(const Simulation& simulation);

// What a run did. docs/json.md lists the keys, which stay.
nlohmann::json run_json(const Run& run, const Plan& plan, const RunTotals& totals,
                        const std::vector<StepReport>& steps);

// The same for people; a few lines.
std::string run_text(const Run& run, const Plan& plan, const RunTotals& totals,
                     const std::vector<StepReport>& steps);

// Writes to a file, or to standard output for "-"; nothing for "". Throws StorageError.
void write_json(const nlohmann::json& content, const std::string& path);

// Runs `command`; where the budget cannot hold, writes what would do before passing the error on.
template <class Command>
void with_budget_report(const std::string& json_path, Command&& command);

double median(std::vector<double> values);

// The median of steps' times without the first, which makes code and fills caches, where there are others.
double typical_seconds(std::vector<double> step_seconds);

// A document as text; a layer's name may be any bytes.
std::string json_text(const nlohmann::json& content, int indent);

}  // namespace vdnn::cli

#include "vdnn/error.h"

template <class Command>
void vdnn::cli::with_budget_report(const std::string& json_path, Command&& command) {
  try {
    command();
  } catch (const BudgetError& error) {
    write_json({{"error", error.what()}, {"fits", false}, {"least_budget_bytes", error.least_budget_bytes()}},
               json_path);
    throw;
  }
}
