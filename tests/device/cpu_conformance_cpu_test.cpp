#include "device/host_device_conformance.h"

namespace vdnn::testing {
INSTANTIATE_TEST_SUITE_P(Cpu, DeviceConformance, ::testing::Values(TestedDevice{"cpu"}));
INSTANTIATE_TEST_SUITE_P(Cpu, HostDeviceConformance, ::testing::Values(TestedDevice{"cpu"}));
}  // namespace vdnn::testing
