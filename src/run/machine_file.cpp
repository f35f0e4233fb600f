#include "run/machine_file.h"

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "vdnn/error.h"
#include "vdnn/whole_file.h"

namespace vdnn {
namespace {

nlohmann::json read_file(const std::string& path) {
  std::error_code ignored;
  std::ifstream file(path);
  if (!file || !std::filesystem::is_regular_file(path, ignored)) return nlohmann::json::object();
  auto content = nlohmann::json::parse(file, nullptr, false);
  return content.is_object() ? content : nlohmann::json::object();
}

}  // namespace

MeasuredNumbers read_measured(const std::string& path, const std::string& machine) {
  MeasuredNumbers numbers;
  const auto content = read_file(path);
  const auto known = content.find(machine);
  if (known == content.end() || !known->is_object()) return numbers;
  for (const auto& [key, value] : known->items()) {
    if (value.is_number() && value.get<double>() > 0) numbers[key] = value.get<double>();
  }
  return numbers;
}

void write_measured(const std::string& path, const std::string& machine, const MeasuredNumbers& numbers) {
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);
  auto content = read_file(path);
  auto& known = content[machine];
  if (!known.is_object()) known = nlohmann::json::object();
  for (const auto& [key, number] : numbers) known[key] = number;
  try {
    write_whole_file(path, content.dump(1) + '\n');
  } catch (const StorageError&) {
    return;  // measured again next time
  }
}

}  // namespace vdnn
