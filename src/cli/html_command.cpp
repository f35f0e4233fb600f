#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/html_report.h"
#include "cli/output.h"
#include "cli/run_options.h"
#include "vdnn/error.h"
#include "vdnn/whole_file.h"

namespace vdnn::cli {

void add_html_report(CLI::App& app) {
  struct Options {
    std::string run;
    std::string output = "report.html";
  };
  auto options = std::make_shared<Options>();
  auto* command = app.add_subcommand("report", "Show a result as one page to look at in a browser");
  command->footer(
      "Example: vdnn report plan.json -o report.html, of what vdnn plan vgg-16 --memory 2.3GiB --json "
      "plan.json wrote");
  command->add_option("run", options->run, "What plan, train or bench wrote with --json")->required();
  command->add_option("-o,--output", options->output, "The page")->capture_default_str()->check(not_empty());
  command->callback([options] {
    check_writable(options->output);
    const auto run = nlohmann::json::parse(read_whole_file(options->run), nullptr, false);
    if (run.is_discarded()) throw ModelError(fmt::format("{}: not JSON", options->run));
    write_whole_file(options->output, html_report(run, options->run));
    say("page written to {}\n", options->output);
  });
}

}  // namespace vdnn::cli
