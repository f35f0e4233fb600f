#pragma once

#include "device/device_conformance.h"

namespace vdnn::testing {

// Of devices whose memory is the host's, which says what was touched, and whose work can be skipped when it
// is enqueued already.
class HostDeviceConformance : public DeviceConformance {};

TEST_P(HostDeviceConformance, MeasuresThePlannedBytesToThePage) {
  const std::int64_t page = sysconf(_SC_PAGESIZE);
  for (const auto planned : {std::int64_t{1}, 5 * page, 5 * page + 1, 3 * kMiB + 1, 6 * kMiB}) {
    const auto context = executable_->open({.budget_bytes = 8 * kMiB, .planned_bytes = planned});
    EXPECT_EQ(context->measured_peak_bytes(), round_up(planned, page)) << planned;
  }
}

TEST_P(HostDeviceConformance, MeasuresWhatIsTouchedAboveThePlannedBytes) {
  const std::int64_t page = sysconf(_SC_PAGESIZE);
  const auto context = executable_->open({.budget_bytes = 8 * kMiB, .planned_bytes = 2 * kMiB});
  context->poison(5 * kMiB, 1);
  context->synchronize();
  EXPECT_EQ(context->measured_peak_bytes(), 5 * kMiB + page);
}

TEST_P(HostDeviceConformance, WorkBehindAnErrorIsSkipped) {
  const auto context = open();
  const auto images = staged_images();
  write(*context, images, numbers(images.count, 1));
  FaultyTier faulty({.write = 1});
  faulty.reserve(end_);
  copy_out(*context, images.buffer, faulty);
  context->record(EventId(0), StreamKind::offload);
  context->wait(StreamKind::compute, EventId(0));
  poison(*context, images.buffer);
  EXPECT_THROW(context->synchronize(), StorageError);
  EXPECT_EQ(read(*context, images), numbers(images.count, 1));
}

TEST_P(HostDeviceConformance, AnErrorInAKernelNamesStepAndKernel) {
  const auto context = open();
  for (const auto& view : program_.kernel(kernel_of(Phase::forward, "softmax_cross_entropy")).reads) {
    std::vector<float> values(kImages * kClasses, 0);
    if (view.buffer == program_.kernel(load_kernel()).writes[1].buffer) values = {1, kClasses};
    context->write_values(view.buffer, offset(view.buffer), 0, values);
  }
  launch(*context, kernel_of(Phase::forward, "softmax_cross_entropy"), {.step = 41});
  try {
    context->synchronize();
    FAIL() << "the error was lost";
  } catch (const DeviceError& error) {
    EXPECT_STREQ(
        error.what(),
        "step 41: softmax_cross_entropy loss forward failed: label 6 of example 1 is not one of 6 classes");
  }
}

}  // namespace vdnn::testing
