#include <fmt/format.h>

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "cli/commands.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/report.h"
#include "cli/run_options.h"
#include "cli/study/cpu_study.h"
#include "cli/study/paper_tables.h"
#include "vdnn/bytes.h"
#include "vdnn/device.h"
#include "vdnn/error.h"
#include "vdnn/whole_file.h"

namespace vdnn::cli {
namespace {

struct StudyOptions {
  std::string device = "profile:titan-x-cudnn4";
  std::string memory;
  std::string output;
  CpuStudyOptions cpu;
};

void write_exhibits(const std::string& directory, const std::string& heading,
                    const std::vector<Exhibit>& exhibits) {
  std::error_code failed;
  std::filesystem::create_directories(directory, failed);
  if (failed) throw StorageError(fmt::format("cannot make {}: {}", directory, failed.message()));
  const auto write = [&](const std::string& name, const std::string& text) {
    write_whole_file((std::filesystem::path(directory) / name).string(), text);
  };
  std::string page = heading;
  for (const auto& [table, chart_svg] : exhibits) {
    page += '\n' + to_markdown(table);
    write(table.name + ".csv", to_csv(table));
    if (chart_svg.empty()) continue;
    write(table.name + ".svg", chart_svg);
    page += fmt::format("\n![{}]({}.svg)\n", table.title, table.name);
  }
  write("README.md", page);
  say("tables and charts written to {}\n", directory);
}

std::vector<Exhibit> described_machine(const StudyOptions& options, std::string& heading) {
  const DeviceDescription device = open_device(options.device)->description();
  const std::int64_t budget_bytes = options.memory.empty() ? device.free_bytes : parse_bytes(options.memory);
  heading = fmt::format(
      "# The paper's evaluation on {}\n\n{}. Budget {}. Made by `vdnn study --device {} -o DIRECTORY`; what "
      "is assumed is "
      "in docs/profiles.md, why figures deviate in docs/reproduction.md.\n",
      device.name, device.summary, format_bytes(budget_bytes), device.name);
  Progress progress("study");
  std::int64_t done = 0;
  const auto studies = study_networks(options.device, budget_bytes, [&](const PaperNetwork& network) {
    progress.show(done++, kPaperNetworkCount, network.name);
  });
  progress.show(done, kPaperNetworkCount, "done");
  return paper_exhibits(studies, budget_bytes);
}

// This program once more, to measure; throws where that fails.
void measure_in_a_process_of_its_own(const CpuStudyOptions& options) {
  std::vector<std::string> arguments = {
      "vdnn", "study", "--device", "cpu", "--measure-only", "--steps", std::to_string(options.steps)};
  const auto pass = [&](const char* option, const std::string& value) {
    if (!value.empty()) arguments.insert(arguments.end(), {option, value});
  };
  pass("--spill", options.spill);
  pass("--cache", options.cache);
  pass("--threads", options.threads > 0 ? std::to_string(options.threads) : "");
  std::vector<char*> pointers;
  for (auto& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  pid_t child = 0;
  if (const int error = posix_spawn(&child, "/proc/self/exe", nullptr, nullptr, pointers.data(), environ);
      error != 0)
    throw Error(fmt::format("cannot start this program once more: {}", std::strerror(error)));
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    throw Error("measuring failed; there is nothing to predict from");
}

std::vector<Exhibit> this_machine(const CpuStudyOptions& options, std::string& heading) {
  measure_in_a_process_of_its_own(options);
  return cpu_exhibits(options, heading);
}

void study(const StudyOptions& options) {
  std::string heading;
  const bool described = options.device.rfind("profile:", 0) == 0;
  if (!described && options.device != "cpu") throw UsageError("--device is cpu or profile:NAME");
  if (!described && !options.memory.empty())
    throw UsageError("--device cpu has budgets of its own; leave out --memory");
  if (options.cpu.measure_only) return measure_for_cpu_study(options.cpu);
  const auto exhibits = described ? described_machine(options, heading) : this_machine(options.cpu, heading);
  for (const auto& exhibit : exhibits) tell(stdout, "{}\n", to_text(exhibit.table));
  if (!options.output.empty()) write_exhibits(options.output, heading, exhibits);
}

}  // namespace

void add_study(CLI::App& app) {
  auto options = std::make_shared<StudyOptions>();
  auto* command =
      app.add_subcommand("study", "The paper's ten networks under every policy, beside its figures");
  command->footer("Example: vdnn study -o study; vdnn study --device cpu -o study-cpu");
  command
      ->add_option("--device", options->device,
                   "profile:NAME to predict for a described machine; cpu to run smaller networks for real")
      ->capture_default_str();
  command->add_option("--memory", options->memory, "The budget (default the device's memory)")
      ->check(not_empty());
  command->add_option("-o,--output", options->output, "Directory for Markdown, CSV and SVG")
      ->check(not_empty());
  command->add_option("--steps", options->cpu.steps, "On the cpu: steps measured of each case")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  command->add_option("--threads", options->cpu.threads,
                      "On the cpu (default: as many as the process may use)");
  command->add_option("--spill", options->cpu.spill, "On the cpu: directory for offloaded maps");
  command->add_option("--cache", options->cpu.cache,
                      "On the cpu: directory of measured times (default ~/.cache/vdnn)");
  command->add_flag(
      "--measure-only", options->cpu.measure_only,
      "On the cpu: only measure what predictions go by; a study does so first, in a process of its own");
  command->callback([options] { study(*options); });
}

}  // namespace vdnn::cli
