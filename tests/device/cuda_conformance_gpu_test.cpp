#include "device/device_conformance.h"
#include "support/gpu.h"

namespace vdnn::testing {
INSTANTIATE_TEST_SUITE_P(Cuda, DeviceConformance,
                         ::testing::Values(TestedDevice{"cuda"}, TestedDevice{"cuda-tf32", [] {
                                                                                return open_device(
                                                                                    "cuda", {.tf32 = true});
                                                                              }}));
}  // namespace vdnn::testing
