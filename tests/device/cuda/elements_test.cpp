#include <gmock/gmock.h>

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>

#include "base/counter_random.h"
#include "device/cuda/coverage.h"
#include "device/cuda/elements/dropout.h"
#include "device/cuda/elements/pointwise.h"
#include "device/cuda/elements/sgd.h"
#include "device/cuda/elements/softmax_cross_entropy.h"
#include "device/cuda/elements_support.h"
#include "support/kernel_run.h"

namespace vdnn::cuda::testing {
namespace {

using ::vdnn::testing::KernelRun;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// As a launch starts it.
template <class Op, int Width>
void unary(const float* x, float* y, std::int64_t count) {
  run_elements(Unary<float, Width, Op>{x, y, count}, packs<Width>(count));
}
template <class Op, int Width>
void binary(const float* a, const float* b, float* y, std::int64_t count) {
  run_elements(Binary<float, Width, Op>{a, b, y, count}, packs<Width>(count));
}

// Counts with and without a last pack that is cut off. One value behind the end must stay as it is.
constexpr std::array<std::int64_t, 6> kCounts = {1, 3, 4, 5, 8, 1003};

struct alignas(16) Aligned {
  std::array<float, 1004> values;

  explicit Aligned(const Values& from) {
    values.fill(-77);
    std::copy(from.begin(), from.end(), values.begin());
  }
  [[nodiscard]] Values first(std::int64_t count) const { return {values.begin(), values.begin() + count}; }
  [[nodiscard]] float behind(std::int64_t count) const { return values.at(static_cast<std::size_t>(count)); }
};

TEST(Relu, IsTheReferences) {
  RandomDraws draws(1);
  for (const auto count : kCounts) {
    const Values x = random_values(draws, count);
    const auto expected = KernelRun(OpKind::relu, NoAttributes{}).input({count}, x).output({count}).run()[0];
    const Aligned in(x);
    Aligned narrow(Values{});
    Aligned wide(Values{});
    Aligned in_place(x);
    unary<Relu, 1>(in.values.data(), narrow.values.data(), count);
    unary<Relu, 4>(in.values.data(), wide.values.data(), count);
    unary<Relu, 4>(in_place.values.data(), in_place.values.data(), count);
    for (const auto* out : {&narrow, &wide, &in_place}) {
      EXPECT_EQ(out->first(count), expected);
      EXPECT_EQ(out->behind(count), -77) << count;
    }
  }
}

TEST(Relu, LetsNanThroughBothWays) {
  EXPECT_TRUE(std::isnan(Relu()(kNan)));
  EXPECT_TRUE(std::isnan(ReluBackward()(kNan, 1.0F)));
  EXPECT_TRUE(std::isnan(ReluBackward()(1.0F, kNan)));
  EXPECT_EQ(ReluBackward()(kNan, 0.0F), 0);
}

TEST(ReluBackward, IsTheReferences) {
  RandomDraws draws(2);
  for (const auto count : kCounts) {
    const Values dy = random_values(draws, count);
    const Values y = random_values(draws, count);
    const auto expected = KernelRun(OpKind::relu_backward, NoAttributes{})
                              .input({count}, dy)
                              .input({count}, y)
                              .output({count})
                              .run()[0];
    const Aligned saved(y);
    const Aligned in(dy);
    Aligned apart(Values{});
    Aligned in_place(dy);
    binary<ReluBackward, 1>(in.values.data(), saved.values.data(), apart.values.data(), count);
    binary<ReluBackward, 4>(in_place.values.data(), saved.values.data(), in_place.values.data(), count);
    EXPECT_EQ(apart.first(count), expected);
    EXPECT_EQ(in_place.first(count), expected);
    EXPECT_EQ(in_place.behind(count), -77) << count;
  }
}

TEST(Add, IsTheReferencesAndMayOverwriteEither) {
  RandomDraws draws(3);
  for (const auto count : kCounts) {
    const Values a = random_values(draws, count);
    const Values b = random_values(draws, count);
    const auto expected =
        KernelRun(OpKind::add, NoAttributes{}).input({count}, a).input({count}, b).output({count}).run()[0];
    const Aligned left(a);
    const Aligned right(b);
    Aligned sum(Values{});
    binary<Add, 4>(left.values.data(), right.values.data(), sum.values.data(), count);
    EXPECT_EQ(sum.first(count), expected);
    EXPECT_EQ(sum.behind(count), -77) << count;
    Aligned over_left(a);
    binary<Add, 4>(over_left.values.data(), right.values.data(), over_left.values.data(), count);
    EXPECT_EQ(over_left.first(count), expected);
    Aligned over_right(b);
    binary<Add, 1>(left.values.data(), over_right.values.data(), over_right.values.data(), count);
    EXPECT_EQ(over_right.first(count), expected);
  }
}

TEST(SgdUpdate, IsTheReferences) {
  RandomDraws draws(4);
  constexpr std::int64_t kCount = 101;
  const StepScalars scalars = {.learning_rate = 0.125};
  for (const auto& a : {SgdAttributes{.momentum = 0.75, .weight_decay = 0.25},
                        SgdAttributes{.momentum = 0.75, .weight_decay = 0}}) {
    for (const bool with_momentum : {false, true}) {
      const Values gradient = random_values(draws, kCount);
      const Values weight = random_values(draws, kCount);
      const Values momentum = random_values(draws, kCount);
      KernelRun kernel(OpKind::sgd_update, a);
      kernel.input({kCount}, gradient).input({kCount}, weight).output({kCount});
      if (with_momentum) kernel.input({kCount}, momentum).output({kCount});
      kernel.in_place(with_momentum ? std::vector<std::size_t>{1, 2} : std::vector<std::size_t>{1});
      const auto expected = kernel.run(scalars);

      const Memory g = flat(gradient);
      Memory w = flat(weight);
      Memory m = flat(momentum);
      run_elements(SgdUpdate<float>{.gradient = g.data(),
                                    .weight = w.data(),
                                    .momentum = with_momentum ? m.data() : nullptr,
                                    .rate = static_cast<float>(scalars.learning_rate),
                                    .keep = static_cast<float>(a.momentum),
                                    .decay = static_cast<float>(a.weight_decay)},
                   kCount);
      expect_near(as_values(w), expected[0], "weight");
      expect_near(as_values(m), with_momentum ? expected[1] : momentum, "momentum");
    }
  }
}

// 2 * 3 * 35 values are no multiple of a block of draws.
TEST(Dropout, DropsWhatCounterRandomSaysByRowMajorPosition) {
  constexpr std::uint64_t kSeed = (std::uint64_t{7} << 32) + 5;
  constexpr std::uint32_t kStream = 9;
  constexpr std::uint32_t kStep = 41;
  const CounterRandom random(kSeed, kStream, kStep);
  RandomDraws draws(5);
  for (const bool channels_last : kChannelsLast) {
    for (const float probability : {0.0F, 0.2F, 0.5F}) {
      const Layout layout{{2, 3, 5, 7}, channels_last};
      const Values x = random_values(draws, layout.values());
      Memory y = unwritten(layout.values());
      const Memory in = lay(x, layout);
      Dropout<float> dropout{in.data(), y.data(), map_layout(layout), probability, random};
      run_elements(dropout, dropout.blocks());
      Memory in_place = in;
      dropout.x = dropout.y = in_place.data();
      run_elements(dropout, dropout.blocks());
      EXPECT_EQ(in_place, y);

      const float scale = 1 / (1 - probability);
      std::int64_t dropped = 0;
      for (std::size_t i = 0; i < x.size(); ++i) {
        const bool drops = random.uniform(i) < probability;
        dropped += drops ? 1 : 0;
        ASSERT_EQ(y[static_cast<std::size_t>(layout.offset(static_cast<std::int64_t>(i)))],
                  drops ? 0.0F : scale * static_cast<float>(x[i]))
            << i;
      }
      EXPECT_NEAR(static_cast<double>(dropped), probability * 210, 25);
    }
  }
}

TEST(Dropout, KeepsNanWhereItDrops) {
  const Layout layout{{1, 64}};
  Memory x = unwritten(64);
  const Dropout<float> dropout{x.data(), x.data(), map_layout(layout), 0.5F, CounterRandom(1, 2, 3)};
  run_elements(dropout, dropout.blocks());
  EXPECT_TRUE(std::all_of(x.begin(), x.end(), [](float value) { return std::isnan(value); }));
}

struct SoftmaxRun {
  Memory probabilities;
  float loss = 0;
};

// What the two kernels of softmax_cross_entropy.cu do with their blocks.
template <class Combine>
double fold(std::vector<double> values, Combine combine) {
  for (int half = kLanes / 2; half > 0; half /= 2) {
    for (int lane = 0; lane < kLanes; ++lane) fold_lane(values.data(), lane, half, combine);
  }
  return values[0];
}
template <class OfLane>
std::vector<double> by_lane(OfLane of_lane) {
  std::vector<double> values;
  for (int lane = 0; lane < kLanes; ++lane) values.push_back(of_lane(lane));
  return values;
}

SoftmaxRun run_softmax(const Shape& shape, const Memory& logits, const std::vector<std::int32_t>& labels,
                       double weight) {
  SoftmaxRun result{unwritten(shape.elements()), kNan};
  std::vector<double> losses(static_cast<std::size_t>(shape[0]), kNan);
  const SoftmaxRows<float> rows{logits.data(), labels.data(), result.probabilities.data(), losses.data(),
                                shape[1]};
  for (std::int64_t row = 0; row < shape[0]; ++row) {
    const auto largest =
        static_cast<float>(fold(by_lane([&](int lane) { return rows.largest(row, lane); }), Larger()));
    const double sum = fold(by_lane([&](int lane) { return rows.sum(row, largest, lane); }), Plus());
    for (int lane = 0; lane < kLanes; ++lane) rows.store_probabilities(row, largest, sum, lane);
    rows.store_loss(row, largest, sum);
  }
  const MeanLoss<float> mean{losses.data(), &result.loss, shape[0], weight};
  mean.store(fold(by_lane([&](int lane) { return mean.sum(lane); }), Plus()));
  return result;
}

TEST(SoftmaxCrossEntropy, IsTheReferencesBothWays) {
  RandomDraws draws(6);
  constexpr double kWeight = 0.3;
  // Fewer and more classes, and examples, than lanes.
  for (const Shape& shape : {Shape{3, 1}, Shape{5, 7}, Shape{2, 256}, Shape{3, 1000}, Shape{301, 4}}) {
    const Values logits = random_values(draws, shape.elements());
    std::vector<std::int32_t> labels;
    for (std::int64_t n = 0; n < shape[0]; ++n) {
      labels.push_back(static_cast<std::int32_t>(draws.below(shape[1])));
    }
    const auto expected =
        KernelRun(OpKind::softmax_cross_entropy, SoftmaxCrossEntropyAttributes{.weight = kWeight})
            .input(shape, logits)
            .input({shape[0]}, as_values(labels))
            .output({1})
            .output(shape)
            .run();
    const SoftmaxRun seen = run_softmax(shape, flat(logits), labels, kWeight);
    expect_near({seen.loss}, expected[0], shape.text());
    expect_near(as_values(seen.probabilities), expected[1], shape.text(), 2e-7);

    const auto expected_gradient =
        KernelRun(OpKind::softmax_cross_entropy_backward, SoftmaxCrossEntropyAttributes{.weight = kWeight})
            .input(shape, expected[1])
            .input({shape[0]}, as_values(labels))
            .output(shape)
            .run()[0];
    Memory gradient = unwritten(shape.elements());
    run_elements(
        SoftmaxCrossEntropyBackward<float>{seen.probabilities.data(), labels.data(), gradient.data(),
                                           shape[1],
                                           static_cast<float>(kWeight / static_cast<double>(shape[0]))},
        shape.elements());
    expect_near(as_values(gradient), expected_gradient, shape.text(), 2e-7);
  }
}

TEST(SoftmaxCrossEntropy, IsFiniteForLargeLogits) {
  const SoftmaxRun seen = run_softmax({1, 3}, {-1000, 1000, 0}, {0}, 1);
  EXPECT_EQ(seen.loss, 2000);
  EXPECT_THAT(seen.probabilities, ::testing::ElementsAre(0, 1, 0));
}

TEST(SoftmaxCrossEntropy, IsNotANumberWhereALogitIsNone) {
  for (std::size_t at = 0; at < 3; ++at) {
    Memory logits = {1, 2, 3};
    logits[at] = kNan;
    const SoftmaxRun seen = run_softmax({1, 3}, logits, {1}, 1);
    EXPECT_TRUE(std::isnan(seen.loss)) << at;
    for (const float p : seen.probabilities) EXPECT_TRUE(std::isnan(p)) << at;
  }
}

// The sanitizers' builds would see an access outside.
TEST(SoftmaxCrossEntropy, LossIsNotANumberWhereALabelIsNoClass) {
  for (const std::int32_t label :
       {-1, 3, std::numeric_limits<std::int32_t>::max(), std::numeric_limits<std::int32_t>::min()}) {
    const std::vector<std::int32_t> labels = {1, label};
    const SoftmaxRun seen = run_softmax({2, 3}, {1, 2, 3, 3, 2, 1}, labels, 1);
    EXPECT_TRUE(std::isnan(seen.loss)) << label;
    for (const float p : seen.probabilities) EXPECT_FALSE(std::isnan(p)) << label;
    Memory gradient = unwritten(6);
    run_elements(
        SoftmaxCrossEntropyBackward<float>{seen.probabilities.data(), labels.data(), gradient.data(), 3, 1},
        6);
    for (std::size_t c = 3; c < 6; ++c) EXPECT_EQ(gradient[c], seen.probabilities[c]) << label;
  }
}

TEST(Coverage, IsEveryOpOnce) {
  const auto& ops = kSupportedOps;
  EXPECT_EQ(ops.size(), static_cast<std::size_t>(OpKind::sgd_update) + 1);
  EXPECT_EQ(std::set<OpKind>(ops.begin(), ops.end()).size(), ops.size());
}

}  // namespace
}  // namespace vdnn::cuda::testing
