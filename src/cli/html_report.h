#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace vdnn::cli {

// A page of its own, without scripts and without anything from elsewhere, of what `vdnn plan`, `train` or
// `bench` wrote as JSON. Throws ModelError that names the key for what is no such result.
std::string html_report(const nlohmann::json& run, const std::string& where);

}  // namespace vdnn::cli
