#include "device/cuda/kernels_on_gpu.h"
#include "vdnn/zoo.h"

namespace vdnn::testing {
namespace {

// Whole networks of the zoo on the smallest images that they take; apart from kernels_gpu_test, so that the
// two run side by side.

Graph small(const char* name, std::int64_t image) {
  return make_model(name, {.batch = 2, .image = image, .classes = 10});
}

TEST_P(KernelsOnGpu, OfAlexNet) {
  expect_same(small("alexnet", 64));
}
TEST_P(KernelsOnGpu, OfGoogLeNet) {
  expect_same(small("googlenet", 96));
}
TEST_P(KernelsOnGpu, OfVgg16) {
  expect_same(small("vgg-16", 32));
}
TEST_P(KernelsOnGpu, OfResNet50) {
  expect_same(small("resnet-50", 64));
}

INSTANTIATE_TEST_SUITE_P(Cuda, KernelsOnGpu, ::testing::Values(float32(), tf32()), asked_name);

}  // namespace
}  // namespace vdnn::testing
