#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/error_message.h"
#include "vdnn/device.h"
#include "vdnn/error.h"

namespace vdnn::testing {
namespace {

// oneDNN's convolutions divided by zero here.
TEST(CpuLowering, RefusesExtentsThatItsKernelsCannotCount) {
  GraphBuilder b("wide", {1, std::int64_t{1} << 32, 5, 5});
  const TensorId x = b.convolution("conv", b.input(), {.channels = 4, .kernel = {5, 5}});
  b.softmax_cross_entropy("loss", b.fully_connected("fc", x, {.features = 2}));
  const TrainingGraph graph = differentiate(std::move(b).build(), {});
  EXPECT_THAT(
      error_message<UnsupportedError>([&] { static_cast<void>(open_device("cpu")->lower(graph, 1)); }),
      ::testing::HasSubstr("31 bits"));
}

}  // namespace
}  // namespace vdnn::testing
