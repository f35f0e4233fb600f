#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "support/kernel_run.h"

namespace vdnn::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::Pointwise;

using Values = std::vector<double>;

void expect_near(const Values& seen, const Values& expected) {
  EXPECT_THAT(seen, Pointwise(::testing::DoubleNear(1e-12), expected));
}

TEST(LoadBatch, CopiesImagesAndLabels) {
  const auto out = KernelRun(OpKind::load_batch, NoAttributes{})
                       .input({2, 1, 1, 2}, {1, 2, 3, 4})
                       .input({2}, {7, 5})
                       .output({2, 1, 1, 2})
                       .output({2})
                       .run();
  EXPECT_THAT(out[0], ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(out[1], ElementsAre(7, 5));
}

TEST(Relu, ZeroesNegativesInPlaceAndApart) {
  for (const bool in_place : {false, true}) {
    KernelRun kernel(OpKind::relu, NoAttributes{});
    kernel.input({1, 4}, {-1, 0, 2, -3}).output({1, 4});
    if (in_place) kernel.in_place({0});
    EXPECT_THAT(kernel.run()[0], ElementsAre(0, 0, 2, 0));
  }
}

TEST(Relu, LetsNanThrough) {
  const auto out = KernelRun(OpKind::relu, NoAttributes{}).input({1}, {std::nan("")}).output({1}).run();
  EXPECT_TRUE(std::isnan(out[0][0]));
}

TEST(ReluBackward, PassesWhereTheOutputIsPositive) {
  for (const bool in_place : {false, true}) {
    KernelRun kernel(OpKind::relu_backward, NoAttributes{});
    kernel.input({1, 3}, {5, 6, 7}).input({1, 3}, {0, 2, 0}).output({1, 3});
    if (in_place) kernel.in_place({0});
    EXPECT_THAT(kernel.run()[0], ElementsAre(0, 6, 0));
  }
}

// Scales 1 + 3/3 * (1 + 4) = 6, 1 + (1 + 4 + 9) = 15, 1 + (4 + 9) = 14, to the power of -2.
TEST(Lrn, NormalisesAPixelAcrossChannels) {
  const auto out = KernelRun(OpKind::lrn, LrnAttributes{.size = 3, .alpha = 3, .beta = 2, .k = 1})
                       .input({1, 3, 1, 1}, {1, 2, 3})
                       .output({1, 3, 1, 1})
                       .run();
  expect_near(out[0], {1.0 / 36, 2.0 / 225, 3.0 / 196});
}

// y = x / (1 + x^2): dy/dx = (1 - x^2) / (1 + x^2)^2.
TEST(LrnBackward, OfOneChannel) {
  const auto out = KernelRun(OpKind::lrn_backward, LrnAttributes{.size = 1, .alpha = 1, .beta = 1, .k = 1})
                       .input({1, 1, 1, 1}, {10})
                       .input({1, 1, 1, 1}, {2})
                       .output({1, 1, 1, 1})
                       .run();
  expect_near(out[0], {10 * -3.0 / 25});
}

TEST(Dropout, DropsTheSameValuesForwardAndBackwardAndScalesTheRest) {
  const StepScalars scalars = {.seed = 11, .step = 4};
  for (const bool in_place : {false, true}) {
    std::vector<Values> maps;
    for (const OpKind kind : {OpKind::dropout, OpKind::dropout_backward}) {
      KernelRun kernel(kind, DropoutAttributes{.probability = 0.2});
      kernel.random_stream(9).input({2, 500}, Values(1000, 3.0)).output({2, 500});
      if (in_place) kernel.in_place({0});
      maps.push_back(kernel.run(scalars)[0]);
    }
    EXPECT_EQ(maps[0], maps[1]);
    const auto dropped = std::count(maps[0].begin(), maps[0].end(), 0.0);
    EXPECT_NEAR(static_cast<double>(dropped), 200, 50);
    EXPECT_EQ(std::count(maps[0].begin(), maps[0].end(), 3.0 * (1 / (1 - 0.2))), 1000 - dropped);
  }
}

TEST(Dropout, DrawsAnewForEverySeedStepAndStream) {
  const auto map = [](std::uint64_t seed, std::int64_t step, std::uint32_t stream) {
    return KernelRun(OpKind::dropout, DropoutAttributes{.probability = 0.5})
        .random_stream(stream)
        .input({1, 64}, Values(64, 1.0))
        .output({1, 64})
        .run({.seed = seed, .step = step})[0];
  };
  EXPECT_EQ(map(1, 2, 3), map(1, 2, 3));
  EXPECT_NE(map(1, 2, 3), map(2, 2, 3));
  EXPECT_NE(map(1, 2, 3), map(1, 3, 3));
  EXPECT_NE(map(1, 2, 3), map(1, 2, 4));
}

TEST(FullyConnected, MultipliesFlattenedExamples) {
  const auto out = KernelRun(OpKind::fully_connected, FullyConnectedAttributes{.features = 2})
                       .input({2, 1, 1, 2}, {1, 2, 3, 4})
                       .input({2, 2}, {1, 10, 100, 1000})
                       .input({2}, {0.5, 0.25})
                       .output({2, 2})
                       .run();
  EXPECT_THAT(out[0], ElementsAre(21.5, 2100.25, 43.5, 4300.25));
}

TEST(FullyConnectedBackward, SumsOverTheBatchForWeights) {
  const auto out =
      KernelRun(OpKind::fully_connected_backward_weights, FullyConnectedAttributes{.features = 2})
          .input({2, 1, 1, 2}, {1, 2, 3, 4})
          .input({2, 2}, {1, 10, 100, 1000})
          .output({2, 2})
          .output({2})
          .run();
  EXPECT_THAT(out[0], ElementsAre(301, 402, 3010, 4020));
  EXPECT_THAT(out[1], ElementsAre(101, 1010));
}

TEST(FullyConnectedBackward, SumsOverTheFeaturesForData) {
  const auto out = KernelRun(OpKind::fully_connected_backward_data, FullyConnectedAttributes{.features = 2})
                       .input({2, 3}, {1, 2, 3, 4, 5, 6})
                       .input({1, 2}, {1, 10})
                       .output({1, 3, 1, 1})
                       .run();
  EXPECT_THAT(out[0], ElementsAre(41, 52, 63));
}

TEST(Concat, JoinsTheChannelsOfEachExampleAndSplitUndoesIt) {
  const Values a = {1, 2, 3, 4};
  const Values b = {10, 20, 30, 40, 50, 60, 70, 80};
  const auto joined = KernelRun(OpKind::concat, NoAttributes{})
                          .input({2, 1, 1, 2}, a)
                          .input({2, 2, 1, 2}, b)
                          .output({2, 3, 1, 2})
                          .run()[0];
  EXPECT_THAT(joined, ElementsAre(1, 2, 10, 20, 30, 40, 3, 4, 50, 60, 70, 80));
  const auto parts = KernelRun(OpKind::split, NoAttributes{})
                         .input({2, 3, 1, 2}, joined)
                         .output({2, 1, 1, 2})
                         .output({2, 2, 1, 2})
                         .run();
  EXPECT_EQ(parts[0], a);
  EXPECT_EQ(parts[1], b);
}

TEST(Add, MayOverwriteEitherOperand) {
  for (const std::vector<std::size_t>& in_place : {std::vector<std::size_t>{}, {0}, {1}}) {
    const auto out = KernelRun(OpKind::add, NoAttributes{})
                         .input({1, 2}, {1, 2})
                         .input({1, 2}, {10, 20})
                         .output({1, 2})
                         .in_place(in_place)
                         .run();
    EXPECT_THAT(out[0], ElementsAre(11, 22));
  }
}

// Values 1, 3, 5, 7: mean 4, mean squared deviation (9 + 1 + 1 + 9) / 4 = 5; 4 more is the epsilon.
TEST(BatchNorm, NormalisesByTheBiasedVariance) {
  const auto out = KernelRun(OpKind::batch_norm, BatchNormAttributes{.epsilon = 4})
                       .input({2, 2, 1, 2}, {1, 3, 2, 2, 5, 7, 2, 2})
                       .input({2}, {6, 1})
                       .input({2}, {10, 20})
                       .output({2, 2, 1, 2})
                       .output({2})
                       .output({2})
                       .run();
  expect_near(out[0], {4, 8, 20, 20, 12, 16, 20, 20});
  EXPECT_THAT(out[1], ElementsAre(4, 2));
  EXPECT_THAT(out[2], ElementsAre(5, 0));
}

TEST(BatchNormStatistics, MoveByTheMomentum) {
  const auto out = KernelRun(OpKind::batch_norm_statistics, BatchNormAttributes{.momentum = 0.25})
                       .input({1}, {8})
                       .input({1}, {5})
                       .input({1}, {4})
                       .input({1}, {1})
                       .output({1})
                       .output({1})
                       .in_place({2, 3})
                       .run();
  EXPECT_THAT(out[0], ElementsAre(5));
  EXPECT_THAT(out[1], ElementsAre(2));
}

// Normalised x is -1, -1/3, 1/3, 1 with a deviation of 3; the mean of dy is 1/2, of dy times it 1/6.
TEST(BatchNormBackward, SubtractsWhatMeanAndVarianceCarry) {
  const auto out = KernelRun(OpKind::batch_norm_backward, BatchNormAttributes{.epsilon = 4})
                       .input({2, 1, 1, 2}, {1, 3, 5, 7})
                       .input({1}, {4})
                       .input({1}, {5})
                       .input({1}, {6})
                       .input({2, 1, 1, 2}, {0, 1, 0, 1})
                       .output({2, 1, 1, 2})
                       .output({1})
                       .output({1})
                       .run();
  expect_near(out[0], {-2 * (1.0 / 3), 2 * (1.0 / 2 + 1.0 / 18), -2 * (1.0 / 2 + 1.0 / 18), 2 * (1.0 / 3)});
  expect_near(out[1], {2.0 / 3});
  expect_near(out[2], {2});
}

// Probabilities 1/4 and 3/4 for the first example, half and half for the second.
TEST(SoftmaxCrossEntropy, IsTheWeightedMeanOverTheBatch) {
  const auto out = KernelRun(OpKind::softmax_cross_entropy, SoftmaxCrossEntropyAttributes{.weight = 0.5})
                       .input({2, 2}, {0, std::log(3.0), 1, 1})
                       .input({2}, {0, 1})
                       .output({1})
                       .output({2, 2})
                       .run();
  expect_near(out[0], {0.5 * (std::log(4.0) + std::log(2.0)) / 2});
  expect_near(out[1], {0.25, 0.75, 0.5, 0.5});
}

TEST(SoftmaxCrossEntropy, StaysFiniteForExtremeLogits) {
  const auto out = KernelRun(OpKind::softmax_cross_entropy, SoftmaxCrossEntropyAttributes{})
                       .input({1, 2}, {5000, -5000})
                       .input({1}, {1})
                       .output({1})
                       .output({1, 2})
                       .run();
  EXPECT_THAT(out[0], ElementsAre(10000));
  EXPECT_THAT(out[1], ElementsAre(1, 0));
}

TEST(SoftmaxCrossEntropyBackward, IsProbabilityMinusTruth) {
  const auto out =
      KernelRun(OpKind::softmax_cross_entropy_backward, SoftmaxCrossEntropyAttributes{.weight = 4})
          .input({2, 2}, {0.25, 0.75, 0.5, 0.5})
          .input({2}, {0, 1})
          .output({2, 2})
          .run();
  EXPECT_THAT(out[0], ElementsAre(-1.5, 1.5, 1, -1));
}

// Step 1: m = 0 + (2 + 0.5 * 4) = 4, w = 4 - 0.25 * 4 = 3. Step 2: m = 0.5 * 4 + (1 + 0.5 * 3) = 4.5.
TEST(SgdUpdate, GathersMomentumOverTwoSteps) {
  const SgdAttributes attributes = {.momentum = 0.5, .weight_decay = 0.5};
  const auto step = [&](double gradient, double weight, double momentum) {
    return KernelRun(OpKind::sgd_update, attributes)
        .input({1}, {gradient})
        .input({1}, {weight})
        .input({1}, {momentum})
        .output({1})
        .output({1})
        .in_place({1, 2})
        .run({.learning_rate = 0.25});
  };
  const auto first = step(2, 4, 0);
  EXPECT_THAT(first[0], ElementsAre(3));
  EXPECT_THAT(first[1], ElementsAre(4));
  const auto second = step(1, first[0][0], first[1][0]);
  EXPECT_THAT(second[0], ElementsAre(1.875));
  EXPECT_THAT(second[1], ElementsAre(4.5));
}

TEST(SgdUpdate, StepsByTheDecayedGradientWithoutMomentumState) {
  const auto out = KernelRun(OpKind::sgd_update, SgdAttributes{.momentum = 0, .weight_decay = 0.5})
                       .input({1}, {2})
                       .input({1}, {4})
                       .output({1})
                       .in_place({1})
                       .run({.learning_rate = 0.25});
  EXPECT_THAT(out[0], ElementsAre(3));
}

}  // namespace
}  // namespace vdnn::testing
