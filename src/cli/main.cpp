#include <fmt/format.h>

#include <cstdio>
#include <exception>

#include "cli/commands.h"
#include "vdnn/error.h"
#include "vdnn/version.h"

namespace vdnn::cli {
namespace {

int fail(ExitCode code, const std::exception& error) {
  fmt::print(stderr, "vdnn: {}\n", error.what());
  return code;
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
  add_lists(app);
  try {
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
  return kDone;
}

}  // namespace
}  // namespace vdnn::cli

int main(int argc, char** argv) {
  return vdnn::cli::run(argc, argv);
}
