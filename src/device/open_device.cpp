#include <fmt/format.h>

#include "base/nearest.h"
#include "device/cpu/cpu_device.h"
#include "device/reference/reference_device.h"
#include "vdnn/error.h"

namespace vdnn {

std::vector<std::string> device_names() {
  return {"cpu", "reference"};
}

std::unique_ptr<Device> open_device(const std::string& name) {
  if (name == "cpu") return std::make_unique<CpuDevice>();
  if (name == "reference") return std::make_unique<ReferenceDevice>();
  throw UsageError(fmt::format("unknown device '{}'{}", name, suggest(name, device_names())));
}

}  // namespace vdnn
