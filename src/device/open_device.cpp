#include <fmt/format.h>

#include "base/nearest.h"
#include "device/cpu/cpu_device.h"
#include "device/profile/profile_device.h"
#include "device/reference/reference_device.h"
#include "vdnn/error.h"

namespace vdnn {
namespace {

constexpr std::string_view kProfilePrefix = "profile:";

}  // namespace

std::vector<std::string> device_names() {
  std::vector<std::string> names = {"cpu", "reference"};
  for (const auto& profile : profile_names()) names.push_back(std::string(kProfilePrefix) + profile);
  return names;
}

std::unique_ptr<Device> open_device(const std::string& name) {
  if (name == "cpu") return std::make_unique<CpuDevice>();
  if (name == "reference") return std::make_unique<ReferenceDevice>();
  if (name.starts_with(kProfilePrefix))
    return std::make_unique<ProfileDevice>(find_profile(name.substr(kProfilePrefix.size())));
  throw UsageError(fmt::format("unknown device '{}'{}", name, suggest(name, device_names())));
}

}  // namespace vdnn
