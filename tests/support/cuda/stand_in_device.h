#pragma once

#include <memory>

#include "support/cuda/stand_in_runtime.h"
#include "vdnn/device.h"

namespace vdnn::testing {

// The cuda device's context, streams, tiers and staging over the stand-in for CUDA's calls, with the
// reference device's kernels: what it computes is the reference device's bit for bit.
class StandInDevice : public Device {
 public:
  // A runtime for each context; or this one for all.
  explicit StandInDevice(std::shared_ptr<StandInRuntime> runtime = nullptr) : runtime_(std::move(runtime)) {}

  [[nodiscard]] DeviceDescription description() const override;
  [[nodiscard]] std::unique_ptr<Executable> lower(const TrainingGraph& graph, int threads) const override;

 private:
  std::shared_ptr<StandInRuntime> runtime_;
};

}  // namespace vdnn::testing
