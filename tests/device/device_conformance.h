#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <numeric>
#include <ostream>
#include <string>
#include <vector>

#include "support/faulty_tier.h"
#include "vdnn/bytes.h"
#include "vdnn/device.h"
#include "vdnn/error.h"

// What every Device whose kernels run promises. A test file names its devices:
//   INSTANTIATE_TEST_SUITE_P(Reference, DeviceConformance, ::testing::Values(TestedDevice{"reference"}));
namespace vdnn::testing {

struct TestedDevice {
  const char* name = "";
  std::function<std::unique_ptr<Device>()> open = [name = name] { return open_device(name); };
};
inline void PrintTo(const TestedDevice& device, std::ostream* stream) {
  *stream << device.name;
}

class DeviceConformance : public ::testing::TestWithParam<TestedDevice> {
 protected:
  static constexpr std::int64_t kImages = 2;
  static constexpr std::int64_t kClasses = 6;

  DeviceConformance()
      : graph_(differentiate(network(), {})),
        executable_(GetParam().open()->lower(graph_, 2)),
        program_(executable_->program()) {
    for (const auto& buffer : program_.buffers) {
      offsets_.push_back(end_);
      end_ = round_up(end_ + buffer.placed_bytes(), 4096);
    }
    tier_->reserve(end_);
  }

  // Convolutions with and without groups, of channels that fill no block, and vectors behind them.
  static Graph network() {
    GraphBuilder b("conformance", {kImages, 7, 24, 40});
    auto x = b.convolution("dense", b.input(), {.channels = 36, .kernel = {3, 3}, .padding = {1, 1}});
    x = b.batch_norm("norm", x);
    x = b.max_pool("pool", b.relu("relu", x), {.kernel = {2, 2}, .stride = {2, 2}});
    x = b.convolution("grouped", x, {.channels = 32, .kernel = {3, 3}, .groups = 2});
    x = b.fully_connected("classifier", x, {.features = kClasses});
    b.softmax_cross_entropy("loss", x);
    return std::move(b).build();
  }

  [[nodiscard]] std::unique_ptr<DeviceContext> open(std::uint64_t delay_seed = 0) const {
    auto context = executable_->open({.budget_bytes = end_,
                                      .planned_bytes = end_,
                                      .threads = 2,
                                      .random_delay_seconds = delay_seed == 0 ? 0 : 0.004,
                                      .delay_seed = delay_seed});
    context->bind(StreamKind::offload, *tier_);
    context->bind(StreamKind::prefetch, *tier_);
    return context;
  }

  [[nodiscard]] std::int64_t offset(BufferId buffer) const { return offsets_[buffer.index()]; }

  // Values that both float32 and int32 hold.
  static std::vector<float> numbers(std::int64_t count, float first) {
    std::vector<float> values(static_cast<std::size_t>(count));
    std::iota(values.begin(), values.end(), first);
    return values;
  }

  std::vector<float> read(DeviceContext& context, const BoundTensor& bound) const {
    std::vector<float> values(static_cast<std::size_t>(bound.count));
    context.read_values(bound.buffer, offset(bound.buffer), 0, values);
    return values;
  }
  void write(DeviceContext& context, const BoundTensor& bound, std::span<const float> values) const {
    context.write_values(bound.buffer, offset(bound.buffer), 0, values);
  }

  // Buffers with the values of a tensor; what backends keep for themselves in forms of their own is none.
  [[nodiscard]] std::vector<BoundTensor> bound_tensors() const {
    std::vector<BoundTensor> all;
    for (std::size_t t = 0; t < graph_.tensors.size(); ++t) {
      if (graph_.tensors[t].type == DataType::index8) continue;
      for (const auto& bound : executable_->tensor(TensorId(t))) all.push_back(bound);
    }
    return all;
  }

  [[nodiscard]] BoundTensor staged_images() const { return executable_->tensor(graph_.staged_images).at(0); }
  [[nodiscard]] BoundTensor staged_labels() const { return executable_->tensor(graph_.staged_labels).at(0); }

  [[nodiscard]] KernelId kernel_of(Phase phase, std::string_view op) const {
    for (std::size_t k = 0; k < program_.kernels.size(); ++k) {
      if (program_.kernels[k].phase == phase && program_.kernels[k].op == op) return KernelId(k);
    }
    throw std::out_of_range("no kernel of " + std::string(op));
  }

  void launch(DeviceContext& context, KernelId id, const StepScalars& scalars = {}) const {
    const Kernel& kernel = program_.kernel(id);
    ASSERT_EQ(kernel.candidates[0].workspace_bytes, 0) << kernel.name;
    std::vector<std::int64_t> arguments;
    for (const auto* list : {&kernel.reads, &kernel.writes}) {
      for (const auto& view : *list) arguments.push_back(offset(view.buffer) + view.offset_bytes);
    }
    context.launch(id, 0, arguments, scalars);
  }

  // Takes the staged batch over.
  [[nodiscard]] KernelId load_kernel() const { return kernel_of(Phase::load, "load_batch"); }
  [[nodiscard]] BoundTensor loaded_images() const {
    const BufferId images = program_.kernel(load_kernel()).writes[0].buffer;
    return {images, 0, staged_images().count};
  }

  void copy_out(DeviceContext& context, BufferId buffer, Tier& tier) const {
    context.bind(StreamKind::offload, tier);
    context.copy(StreamKind::offload, offset(buffer), program_.buffer(buffer).placed_bytes(), offset(buffer));
  }
  void copy_in(DeviceContext& context, BufferId buffer, Tier& tier) const {
    context.bind(StreamKind::prefetch, tier);
    context.copy(StreamKind::prefetch, offset(buffer), program_.buffer(buffer).placed_bytes(),
                 offset(buffer));
  }
  void poison(DeviceContext& context, BufferId buffer) const {
    context.poison(offset(buffer), program_.buffer(buffer).placed_bytes());
  }

  TrainingGraph graph_;
  std::unique_ptr<Executable> executable_;
  const Program& program_;
  std::vector<std::int64_t> offsets_;
  std::int64_t end_ = 0;
  std::unique_ptr<FaultyTier> tier_ = std::make_unique<FaultyTier>();
};

TEST_P(DeviceConformance, GivesBackTheValuesOfEveryBuffer) {
  const auto context = open();
  const auto all = bound_tensors();
  EXPECT_GT(all.size(), 20U);
  for (const auto& bound : all) {
    const auto values = numbers(bound.count, 3);
    write(*context, bound, values);
    ASSERT_EQ(read(*context, bound), values) << program_.buffer(bound.buffer).name;
  }
}

TEST_P(DeviceConformance, WritesNothingBesideABuffer) {
  const auto context = open();
  const auto all = bound_tensors();
  for (const auto& bound : all)
    write(*context, bound, numbers(bound.count, static_cast<float>(bound.buffer.index())));
  for (const auto& bound : all) {
    ASSERT_EQ(read(*context, bound), numbers(bound.count, static_cast<float>(bound.buffer.index())))
        << program_.buffer(bound.buffer).name;
  }
}

TEST_P(DeviceConformance, ReadsAnyPiece) {
  const auto context = open();
  for (const auto& bound : bound_tensors()) {
    write(*context, bound, numbers(bound.count, 0));
    for (const auto first : {std::int64_t{0}, bound.count / 3, bound.count - 1}) {
      std::vector<float> piece(static_cast<std::size_t>(bound.count - first + 1) / 2);
      context->read_values(bound.buffer, offset(bound.buffer), first, piece);
      ASSERT_EQ(piece, numbers(static_cast<std::int64_t>(piece.size()), static_cast<float>(first)))
          << program_.buffer(bound.buffer).name;
    }
  }
}

TEST_P(DeviceConformance, WritesAnyPieceAndKeepsTheOthers) {
  const auto context = open();
  for (const auto& bound : bound_tensors()) {
    for (const auto first : {std::int64_t{0}, bound.count / 3, bound.count - 1}) {
      auto expected = numbers(bound.count, 0);
      write(*context, bound, expected);
      const auto piece = numbers((bound.count - first + 1) / 2, 1000);
      context->write_values(bound.buffer, offset(bound.buffer), first, piece);
      std::copy(piece.begin(), piece.end(), expected.begin() + first);
      ASSERT_EQ(read(*context, bound), expected) << program_.buffer(bound.buffer).name << " from " << first;
    }
  }
}

TEST_P(DeviceConformance, PoisonIsNotANumber) {
  const auto context = open();
  for (const auto& bound : bound_tensors()) {
    if (bound.buffer == staged_labels().buffer) continue;
    write(*context, bound, numbers(bound.count, 0));
  }
  context->poison(0, end_);
  context->synchronize();
  for (std::size_t t = 0; t < graph_.tensors.size(); ++t) {
    if (graph_.tensors[t].type != DataType::float32) continue;
    for (const auto& bound : executable_->tensor(TensorId(t))) {
      for (const float value : read(*context, bound))
        ASSERT_TRUE(std::isnan(value)) << graph_.tensors[t].name;
    }
  }
}

TEST_P(DeviceConformance, PoisonTouchesNothingElse) {
  const auto context = open();
  const auto images = staged_images();
  write(*context, images, numbers(images.count, 0));
  const std::int64_t begin = offset(images.buffer);
  context->poison(0, begin);
  context->poison(begin + program_.buffer(images.buffer).placed_bytes(),
                  end_ - begin - program_.buffer(images.buffer).placed_bytes());
  context->synchronize();
  EXPECT_EQ(read(*context, images), numbers(images.count, 0));
}

TEST_P(DeviceConformance, AStreamRunsItsWorkInOrder) {
  const auto context = open(1);
  write(*context, staged_images(), numbers(staged_images().count, 7));
  write(*context, staged_labels(), numbers(kImages, 0));
  launch(*context, load_kernel());
  poison(*context, staged_images().buffer);
  context->synchronize();
  EXPECT_EQ(read(*context, loaded_images()), numbers(loaded_images().count, 7));
}

TEST_P(DeviceConformance, EventsOrderCopiesAfterKernelsAndBack) {
  const BufferId images = loaded_images().buffer;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const auto context = open(seed);
    const auto values = numbers(staged_images().count, static_cast<float>(seed));
    write(*context, staged_images(), values);
    write(*context, staged_labels(), numbers(kImages, 0));
    launch(*context, load_kernel());
    context->record(EventId(3), StreamKind::compute);
    context->wait(StreamKind::offload, EventId(3));
    copy_out(*context, images, *tier_);
    context->record(EventId(0), StreamKind::offload);
    context->wait(StreamKind::compute, EventId(0));
    poison(*context, images);
    context->record(EventId(3), StreamKind::compute);
    context->wait(StreamKind::prefetch, EventId(3));
    copy_in(*context, images, *tier_);
    context->synchronize();
    ASSERT_EQ(read(*context, loaded_images()), values) << "delay seed " << seed;
  }
}

TEST_P(DeviceConformance, WaitsOnTheHostForTheLastRecording) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const auto context = open(seed);
    write(*context, staged_images(), numbers(staged_images().count, 1));
    write(*context, staged_labels(), numbers(kImages, 0));
    context->record(EventId(0), StreamKind::compute);
    launch(*context, load_kernel());
    context->record(EventId(0), StreamKind::compute);
    context->wait_on_host(EventId(0));
    ASSERT_EQ(read(*context, loaded_images()), numbers(staged_images().count, 1)) << "delay seed " << seed;
  }
}

TEST_P(DeviceConformance, AnEventThatWasNeverRecordedHoldsNobodyUp) {
  const auto context = open();
  context->wait(StreamKind::compute, EventId(5));
  context->wait_on_host(EventId(6));
  EXPECT_NO_THROW(context->synchronize());
}

TEST_P(DeviceConformance, CopiesKeepPaddingToo) {
  const auto context = open();
  for (const auto& bound : bound_tensors()) {
    const auto values = numbers(bound.count, 5);
    write(*context, bound, values);
    copy_out(*context, bound.buffer, *tier_);
    context->synchronize();
    poison(*context, bound.buffer);
    context->synchronize();
    copy_in(*context, bound.buffer, *tier_);
    context->synchronize();
    ASSERT_EQ(read(*context, bound), values) << program_.buffer(bound.buffer).name;
  }
}

TEST_P(DeviceConformance, AnErrorInACopyComesOutOfSynchronize) {
  for (const bool out : {true, false}) {
    const auto context = open();
    write(*context, staged_images(), numbers(staged_images().count, 1));
    write(*context, staged_labels(), numbers(kImages, 0));
    FaultyTier faulty(out ? FaultyTier::Faults{.write = 1} : FaultyTier::Faults{.read = 1});
    faulty.reserve(end_);
    const StreamKind stream = out ? StreamKind::offload : StreamKind::prefetch;
    out ? copy_out(*context, loaded_images().buffer, faulty)
        : copy_in(*context, loaded_images().buffer, faulty);
    context->record(EventId(0), stream);
    context->wait(StreamKind::compute, EventId(0));
    launch(*context, load_kernel());
    context->record(EventId(1), StreamKind::compute);
    context->wait_on_host(EventId(1));
    try {
      context->synchronize();
      FAIL() << "the error was lost";
    } catch (const StorageError& error) {
      EXPECT_STREQ(error.what(), out ? "write 1 fails" : "read 1 fails");
    }
  }
}

TEST_P(DeviceConformance, TheFirstOfTwoErrorsComesOut) {
  const auto context = open();
  FaultyTier faulty({.write = 1, .read = 1});
  faulty.reserve(end_);
  copy_out(*context, staged_images().buffer, faulty);
  context->record(EventId(0), StreamKind::offload);
  context->wait(StreamKind::prefetch, EventId(0));
  copy_in(*context, staged_images().buffer, faulty);
  try {
    context->synchronize();
    FAIL() << "the error was lost";
  } catch (const StorageError& error) {
    EXPECT_STREQ(error.what(), "write 1 fails");
  }
  EXPECT_NO_THROW(context->synchronize());
}

TEST_P(DeviceConformance, IsDestroyedWithAnErrorThatNobodyAskedFor) {
  const auto context = open();
  FaultyTier faulty({.write = 1});
  faulty.reserve(end_);
  copy_out(*context, staged_images().buffer, faulty);
  context->record(EventId(0), StreamKind::offload);
  context->wait_on_host(EventId(0));
  SUCCEED();
}

TEST_P(DeviceConformance, BindsEveryTrainedTensorWhole) {
  for (const auto& trained : graph_.parameters) {
    std::vector<TensorId> tensors = trained.optimizer_state;
    tensors.push_back(trained.tensor);
    for (const auto tensor : tensors) {
      std::int64_t next = 0;
      for (const auto& bound : executable_->tensor(tensor)) {
        EXPECT_EQ(bound.first, next);
        EXPECT_TRUE(program_.buffer(bound.buffer).persistent);
        next += bound.count;
      }
      EXPECT_EQ(next, graph_.tensor(tensor).shape.elements()) << graph_.tensor(tensor).name;
    }
  }
}

}  // namespace vdnn::testing
