#pragma once

#include <CLI/CLI.hpp>

namespace vdnn::cli {

// Each adds one command to the app; the command's work is its callback. Commands end by exceptions:
// vdnn::Error, or ExitCode.
void add_train(CLI::App& app);
void add_verify(CLI::App& app);
void add_bench(CLI::App& app);
void add_plan(CLI::App& app);
void add_sweep(CLI::App& app);
void add_profile(CLI::App& app);
void add_study(CLI::App& app);
void add_html_report(CLI::App& app);
void add_lists(CLI::App& app);

enum ExitCode { kDone = 0, kFailed = 1, kWrongUsage = 2, kDoesNotFit = 3 };

// Ends the program after a command has said why.
struct Exit {
  ExitCode code;
};

}  // namespace vdnn::cli
