#pragma once

#include "vdnn/device.h"

namespace vdnn {

// Kernels by oneDNN and OpenMP; the scarce memory is an arena of RAM.
class CpuDevice : public Device {
 public:
  [[nodiscard]] DeviceDescription description() const override;
  [[nodiscard]] std::unique_ptr<Executable> lower(const TrainingGraph& graph, int threads) const override;
};

}  // namespace vdnn
