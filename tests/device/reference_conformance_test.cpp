#include "device/device_conformance.h"

namespace vdnn::testing {
INSTANTIATE_TEST_SUITE_P(Reference, DeviceConformance, ::testing::Values("reference"));
}  // namespace vdnn::testing
