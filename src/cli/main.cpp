#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/output.h"
#include "vdnn/error.h"
#include "vdnn/version.h"

namespace vdnn::cli {
namespace {

int fail(ExitCode code, const std::exception& error) {
  say("vdnn: {}\n", error.what());
  return code;
}

void refuse_unknown_command(CLI::App& app, int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') return;
  std::vector<std::string> known;
  for (const auto* command : app.get_subcommands({})) known.push_back(command->get_name());
  if (std::find(known.begin(), known.end(), argv[1]) != known.end()) return;
  throw UsageError(fmt::format("unknown command '{}'; known: {}", argv[1], fmt::join(known, ", ")));
}

int run(int argc, char** argv) {
  CLI::App app(
      "Trains deep networks in a fixed amount of memory.\n"
      "Example: vdnn train googlenet --batch 32 --memory 1GiB --steps 10",
      "vdnn");
  app.set_version_flag("--version", "vdnn " + std::string(version()));
  app.require_subcommand(1);
  add_train(app);
  add_verify(app);
  add_bench(app);
  add_plan(app);
  add_sweep(app);
  add_profile(app);
  add_study(app);
  add_html_report(app);
  add_lists(app);
  try {
    refuse_unknown_command(app, argc, argv);
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kDone : kWrongUsage;
  } catch (const BudgetError& error) {
    return fail(kDoesNotFit, error);
  } catch (const UsageError& error) {
    return fail(kWrongUsage, error);
  } catch (const ModelError& error) {
    return fail(kWrongUsage, error);
  } catch (const UnsupportedError& error) {
    return fail(kWrongUsage, error);
  } catch (const Exit& exit) {
    return exit.code;
  } catch (const std::exception& error) {
    return fail(kFailed, error);
  }
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    say("vdnn: cannot write standard output: {}\n", std::strerror(errno));
    return kFailed;
  }
  return kDone;
}

}  // namespace
}  // namespace vdnn::cli

int main(int argc, char** argv) {
  return vdnn::cli::run(argc, argv);
}
