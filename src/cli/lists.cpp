#include <fmt/format.h>

#include <array>

#include "cli/commands.h"
#include "cli/output.h"
#include "cli/report.h"
#include "vdnn/bytes.h"
#include "vdnn/device.h"
#include "vdnn/error.h"
#include "vdnn/zoo.h"

namespace vdnn::cli {
namespace {

struct ModelsOptions {
  std::string print;
  std::optional<std::int64_t> batch;
  std::optional<std::int64_t> image;
  std::optional<std::int64_t> classes;
  std::string json;
};

void list_models(const ModelsOptions& options) {
  if (!options.print.empty()) {
    tell(stdout, "{}", to_text(make_model(options.print, {options.batch, options.image, options.classes})));
    return;
  }
  nlohmann::json rows = nlohmann::json::array();
  for (const auto& model : models()) {
    const Graph graph = make_model(model.name, {});
    rows.push_back({{"name", model.name},
                    {"summary", model.summary},
                    {"image", model.image},
                    {"weights", graph.parameter_count()},
                    {"ops", graph.ops().size()}});
    if (options.json != "-") {
      tell(stdout, "{:<16} {:>4} pixels {:>7.1f} M weights {:>5} ops  {}\n", model.name, model.image,
           static_cast<double>(graph.parameter_count()) / 1e6, graph.ops().size(), model.summary);
    }
  }
  write_json(rows, options.json);
}

void list_policies(const std::string& json) {
  nlohmann::json rows = nlohmann::json::array();
  for (const auto& policy : policies()) {
    rows.push_back({{"name", policy.name}, {"summary", policy.summary}, {"offloads", policy.offloads}});
    if (json != "-") tell(stdout, "{:<12} {}\n", policy.name, policy.summary);
  }
  write_json(rows, json);
}

void list_devices(const std::string& json) {
  nlohmann::json rows = nlohmann::json::array();
  for (const auto& name : device_names()) {
    nlohmann::json row = {{"name", name}, {"available", true}};
    std::string text;
    try {
      const auto device = open_device(name)->description();
      row.update(
          {{"summary", device.summary}, {"free_bytes", device.free_bytes}, {"threads", device.threads}});
      text = fmt::format("{} free, {} threads, {}", format_bytes(device.free_bytes), device.threads,
                         device.summary);
    } catch (const Error& error) {
      row.update({{"available", false}, {"why_not", error.what()}});
      text = fmt::format("not here: {}", error.what());
    }
    if (json != "-") tell(stdout, "{:<10} {}\n", name, text);
    rows.push_back(std::move(row));
  }
  write_json(rows, json);
}

// What the devices with kernels have them for; of a GPU whether there is one here or not.
void list_ops(const std::string& json) {
  constexpr std::array kDevices = {"cpu", "cuda", "reference"};
  nlohmann::json rows = nlohmann::json::array();
  if (json != "-") tell(stdout, "{:<34} {:<10} {:<10} {}\n", "op", kDevices[0], kDevices[1], kDevices[2]);
  for (int kind = 0; kind <= static_cast<int>(kLastOpKind); ++kind) {
    const auto op = static_cast<OpKind>(kind);
    nlohmann::json row = {{"op", op_name(op)}};
    std::string text = fmt::format("{:<34}", op_name(op));
    for (const char* device : kDevices) {
      const bool has = supports(device, op);
      row[device] = has;
      text += fmt::format(" {:<10}", has ? "yes" : "-");
    }
    if (json != "-") tell(stdout, "{}\n", text.substr(0, text.find_last_not_of(' ') + 1));
    rows.push_back(std::move(row));
  }
  write_json(rows, json);
}

}  // namespace

void add_lists(CLI::App& app) {
  auto options = std::make_shared<ModelsOptions>();
  auto* models_command = app.add_subcommand("models", "List the networks, or print one as text");
  models_command->footer("Example: vdnn models --print vgg-16 > mine.net; vdnn train ./mine.net");
  models_command->add_option("--print", options->print, "Write this network as a network file");
  models_command->add_option("--batch", options->batch, "With --print");
  models_command->add_option("--image", options->image, "With --print");
  models_command->add_option("--classes", options->classes, "With --print");
  models_command->add_option("--json", options->json, "Write the list to this file; - is standard output");
  models_command->callback([options] { list_models(*options); });
  const auto add_list = [&app](const char* name, const char* summary, void (*list)(const std::string&)) {
    auto json = std::make_shared<std::string>();
    auto* command = app.add_subcommand(name, summary);
    command->footer(fmt::format("Example: vdnn {} --json -", name));
    command->add_option("--json", *json, "Write the list to this file; - is standard output");
    command->callback([json, list] { list(*json); });
  };
  add_list("policies", "List the memory policies", list_policies);
  add_list("devices", "List the devices that run programs here", list_devices);
  add_list("ops", "List the ops, and which devices have kernels for them", list_ops);
}

}  // namespace vdnn::cli
