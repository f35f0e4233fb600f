#pragma once

#include "vdnn/device.h"

namespace vdnn {

// Plain loops in double precision on one thread: the oracle for other devices' kernels, and, with
// delays, the test device for the executor.
class ReferenceDevice : public Device {
 public:
  [[nodiscard]] DeviceDescription description() const override;
  [[nodiscard]] std::unique_ptr<Executable> lower(const TrainingGraph& graph, int threads) const override;
};

}  // namespace vdnn
