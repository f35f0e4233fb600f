#include "device/device_conformance.h"

namespace vdnn::testing {
INSTANTIATE_TEST_SUITE_P(Cpu, DeviceConformance, ::testing::Values("cpu"));
}  // namespace vdnn::testing
