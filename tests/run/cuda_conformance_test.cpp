#include "device/device_conformance.h"
#include "support/cuda/stand_in_device.h"

namespace vdnn::testing {
INSTANTIATE_TEST_SUITE_P(CudaStandIn, DeviceConformance,
                         ::testing::Values(TestedDevice{"cuda-stand-in",
                                                        [] { return std::make_unique<StandInDevice>(); }}));
}  // namespace vdnn::testing
