#pragma once

#include "device/profile/machine_profile.h"
#include "vdnn/device.h"

namespace vdnn {

// A machine that is only described: lowers graphs to programs with predicted times, and runs nothing.
class ProfileDevice : public Device {
 public:
  explicit ProfileDevice(MachineProfile profile) : profile_(std::move(profile)) {}
  [[nodiscard]] DeviceDescription description() const override;
  [[nodiscard]] std::unique_ptr<Executable> lower(const TrainingGraph& graph, int threads) const override;

 private:
  MachineProfile profile_;
};

}  // namespace vdnn
