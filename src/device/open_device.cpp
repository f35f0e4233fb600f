#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/nearest.h"
#include "device/cpu/cpu_device.h"
#include "device/cuda/coverage.h"
#include "device/cuda/cuda_device.h"
#include "device/profile/profile_device.h"
#include "device/reference/reference_device.h"
#include "vdnn/error.h"

namespace vdnn {
namespace {

constexpr std::string_view kProfilePrefix = "profile:";
constexpr std::string_view kCuda = "cuda";

// Of "cuda", the first, and "cuda:2"; -1 for others.
int cuda_number(std::string_view name) {
  if (!name.starts_with(kCuda)) return -1;
  name.remove_prefix(kCuda.size());
  if (name.empty()) return 0;
  int number = -1;
  const char* const end = name.data() + name.size();
  const bool whole = name.front() == ':' && std::from_chars(name.data() + 1, end, number).ptr == end;
  return whole ? number : -1;
}

[[noreturn]] void refuse(const std::string& name) {
  throw UsageError(fmt::format("unknown device '{}'{}", name, suggest(name, device_names())));
}

}  // namespace

std::vector<std::string> device_names() {
  std::vector<std::string> names = {"cpu", std::string(kCuda), "reference"};
  for (const auto& profile : profile_names()) names.push_back(std::string(kProfilePrefix) + profile);
  return names;
}

std::unique_ptr<Device> open_device(const std::string& name, const DeviceOptions& options) {
  if (const int number = cuda_number(name); number >= 0) {
#ifdef VDNN_WITH_CUDA
    return cuda::open_cuda_device(number, options);
#else
    throw UnsupportedError(
        "device cuda: this vdnn was built without it; build with the CUDA toolkit 12 or later and cuDNN 9, "
        "or "
        "plan with a profile: vdnn plan MODEL --device profile:h200-141gb");
#endif
  }
  if (options.tf32 || !options.deterministic)
    throw UsageError(
        fmt::format("device {} has neither TF32 nor algorithms that are not deterministic", name));
  if (name == "cpu") return std::make_unique<CpuDevice>();
  if (name == "reference") return std::make_unique<ReferenceDevice>();
  if (name.starts_with(kProfilePrefix))
    return std::make_unique<ProfileDevice>(find_profile(name.substr(kProfilePrefix.size())));
  refuse(name);
}

// The cpu and reference devices switch over all kinds, and profiles give a time to whatever there is.
bool supports(const std::string& device, OpKind kind) {
  if (cuda_number(device) >= 0)
    return std::ranges::find(cuda::kSupportedOps, kind) != cuda::kSupportedOps.end();
  if (device.starts_with(kProfilePrefix) || device == "cpu" || device == "reference") return true;
  refuse(device);
}

}  // namespace vdnn
