#include "device/host_device_conformance.h"

namespace vdnn::testing {
INSTANTIATE_TEST_SUITE_P(Reference, DeviceConformance, ::testing::Values(TestedDevice{"reference"}));
INSTANTIATE_TEST_SUITE_P(Reference, HostDeviceConformance, ::testing::Values(TestedDevice{"reference"}));
}  // namespace vdnn::testing
