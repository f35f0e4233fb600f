#include "vdnn/profile.h"

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/run_options.h"
#include "vdnn/whole_file.h"

namespace vdnn::cli {

void add_profile(CLI::App& app) {
  struct Options {
    ProfileRequest request{.name = "here"};
    std::string output = "here.json";
  };
  auto options = std::make_shared<Options>();
  auto* command =
      app.add_subcommand("profile", "Measure this machine and describe it in a file, to predict with");
  command->footer(
      "Example: vdnn profile -o here.json; vdnn plan vgg-16 --device profile:./here.json --memory 2GiB");
  auto& request = options->request;
  command->add_option("--device", request.device, "cpu or cuda")->capture_default_str();
  command->add_option("--name", request.name, "Of the machine")->capture_default_str()->check(not_empty());
  command->add_option("--threads", request.threads, "Default: as many as the process may use")
      ->check(CLI::Range(1, 4096));
  command->add_option("--spill", request.spill_directory,
                      "Directory on the disk to measure (default $VDNN_SPILL, else /var/tmp)");
  command->add_option("--cache", request.cache_directory,
                      "Directory of measured kernel times (default ~/.cache/vdnn)");
  command->add_option("-o,--output", options->output, "The profile")
      ->capture_default_str()
      ->check(not_empty());
  command->callback([options] {
    watch_for_interrupts();
    check_writable(options->output);
    Progress progress("measuring kernels");
    options->request.on_measure = [&progress](std::int64_t done, std::int64_t total) {
      progress.show(done, total, fmt::format("{}/{}, once per machine", done, total));
      if (interrupted()) throw Exit{kFailed};
    };
    write_whole_file(options->output, measure_profile(options->request));
    say("profile written to {}; plan with --device profile:{}\n", options->output,
        options->output.find('/') == std::string::npos ? "./" + options->output : options->output);
  });
}

}  // namespace vdnn::cli
