#include "device/profile/machine_profile.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/nearest.h"
#include "device/profile/builtin_profiles.h"
#include "device/profile/convolution_model.h"
#include "vdnn/error.h"
#include "vdnn/whole_file.h"

namespace vdnn {
namespace {

using nlohmann::json;

constexpr int kFormat = 1;

double positive(const json& in, const char* field) {
  const double number = in.at(field).get<double>();
  if (!(number > 0) || !std::isfinite(number))
    throw ModelError(fmt::format("{} is {}, not positive", field, number));
  return number;
}

double share(const json& in, const char* field) {
  const double number = positive(in, field);
  if (number > 1) throw ModelError(fmt::format("{} is {}, more than 1", field, number));
  return number;
}

Links read_links(const json& in) {
  Links links{.offload_bytes_per_s = positive(in, "offload_bytes_per_s"),
              .prefetch_bytes_per_s = positive(in, "prefetch_bytes_per_s"),
              .offload_slowdown = positive(in, "offload_slowdown"),
              .prefetch_slowdown = positive(in, "prefetch_slowdown"),
              .duplex_share = share(in, "duplex_share")};
  if (links.offload_slowdown < 1 || links.prefetch_slowdown < 1) throw ModelError("a slowdown below 1");
  return links;
}

MachineProfile read(const json& in) {
  if (in.at("vdnn_profile").get<int>() != kFormat)
    throw ModelError(fmt::format("format {}, this vdnn reads {}", in.at("vdnn_profile").dump(), kFormat));
  MachineProfile profile{.name = in.at("name").get<std::string>(),
                         .summary = in.at("summary").get<std::string>(),
                         .sources = in.at("sources").get<std::vector<std::string>>(),
                         .memory_bytes = std::llround(std::min(positive(in, "memory_bytes"), 9e18)),
                         .flops_per_s = positive(in, "flops_per_s"),
                         .memory_bytes_per_s = positive(in, "memory_bytes_per_s"),
                         .memory_efficiency = share(in, "memory_efficiency"),
                         .matrix_efficiency = share(in, "matrix_efficiency"),
                         .launch_seconds = positive(in, "launch_seconds"),
                         .links = read_links(in.at("links"))};
  for (const auto& algorithm : in.at("convolution_algorithms")) {
    const auto family = algorithm.at("family").get<std::string>();
    const auto known = convolution_families();
    if (std::find(known.begin(), known.end(), family) == known.end())
      throw ModelError(fmt::format("unknown family '{}'{}", family, suggest(family, known)));
    profile.convolution_algorithms.push_back(
        {.family = family, .efficiency = share(algorithm, "efficiency")});
  }
  // The memory-optimal algorithm of any convolution: the one that always applies.
  if (profile.convolution_algorithms.empty() || profile.convolution_algorithms[0].family != "implicit_gemm")
    throw ModelError("the first of convolution_algorithms must be implicit_gemm, which needs no workspace");
  return profile;
}

}  // namespace

MachineProfile read_profile(std::string_view text, const std::string& where) {
  try {
    return read(json::parse(text));
  } catch (const json::exception& error) {
    throw ModelError(fmt::format("profile {}: {}", where, error.what()));
  } catch (const ModelError& error) {
    throw ModelError(fmt::format("profile {}: {}", where, error.what()));
  }
}

std::string to_json(const MachineProfile& profile) {
  nlohmann::ordered_json algorithms = nlohmann::ordered_json::array();
  for (const auto& algorithm : profile.convolution_algorithms)
    algorithms.push_back({{"family", algorithm.family}, {"efficiency", algorithm.efficiency}});
  const Links& links = profile.links;
  const nlohmann::ordered_json content = {{"vdnn_profile", kFormat},
                                          {"name", profile.name},
                                          {"summary", profile.summary},
                                          {"sources", profile.sources},
                                          {"memory_bytes", profile.memory_bytes},
                                          {"flops_per_s", profile.flops_per_s},
                                          {"memory_bytes_per_s", profile.memory_bytes_per_s},
                                          {"memory_efficiency", profile.memory_efficiency},
                                          {"matrix_efficiency", profile.matrix_efficiency},
                                          {"launch_seconds", profile.launch_seconds},
                                          {"links",
                                           {{"offload_bytes_per_s", links.offload_bytes_per_s},
                                            {"prefetch_bytes_per_s", links.prefetch_bytes_per_s},
                                            {"offload_slowdown", links.offload_slowdown},
                                            {"prefetch_slowdown", links.prefetch_slowdown},
                                            {"duplex_share", links.duplex_share}}},
                                          {"convolution_algorithms", algorithms}};
  return content.dump(2) + '\n';
}

std::vector<std::string> profile_names() {
  std::vector<std::string> names;
  for (const auto& [name, text] : builtin_profiles()) names.emplace_back(name);
  return names;
}

MachineProfile find_profile(const std::string& name_or_path) {
  for (const auto& [name, text] : builtin_profiles()) {
    if (name == name_or_path) return read_profile(text, name_or_path);
  }
  if (name_or_path.find_first_of("/.") == std::string::npos) {
    throw UsageError(
        fmt::format("unknown profile '{}'{}", name_or_path, suggest(name_or_path, profile_names())));
  }
  return read_profile(read_whole_file(name_or_path), name_or_path);
}

}  // namespace vdnn
