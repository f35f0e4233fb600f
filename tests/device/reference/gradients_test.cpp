#include <gtest/gtest.h>

#include "support/finite_differences.h"
#include "vdnn/graph.h"

namespace vdnn::testing {
namespace {

// A network under construction with a layer that learns in front of the ops under test, so that their
// gradients reach a weight even where they have none, and a classifier behind them.
class Network {
 public:
  explicit Network(const Shape& input = {2, 3, 7, 6}, std::int64_t channels = 4)
      : builder_("gradients", input),
        first_(builder_.convolution("first", builder_.input(), {.channels = channels})) {}

  GraphBuilder& ops() { return builder_; }
  [[nodiscard]] TensorId first() const { return first_; }

  Graph classify(TensorId x) && {
    builder_.softmax_cross_entropy("loss", builder_.fully_connected("classifier", x, {.features = 3}));
    return std::move(builder_).build();
  }

 private:
  GraphBuilder builder_;
  TensorId first_;
};

void expect_convolution_gradients(const ConvolutionAttributes& attributes) {
  Network network;
  const TensorId y = network.ops().convolution("convolution", network.first(), attributes);
  expect_gradients_match(std::move(network).classify(y));
}

TEST(ConvolutionGradients, OfADenseKernel) {
  expect_convolution_gradients({.channels = 5, .kernel = {3, 2}, .padding = {1, 0}});
}

TEST(ConvolutionGradients, OfGroups) {
  expect_convolution_gradients({.channels = 6, .kernel = {3, 3}, .padding = {1, 1}, .groups = 2});
}

TEST(ConvolutionGradients, OfOneGroupPerChannel) {
  expect_convolution_gradients({.channels = 8, .kernel = {2, 3}, .groups = 4, .bias = false});
}

// (7 - 3) / 3 leaves rows behind that no window reads.
TEST(ConvolutionGradients, OfAStrideThatLeavesPixelsOut) {
  expect_convolution_gradients({.channels = 3, .kernel = {3, 1}, .stride = {3, 4}});
}

TEST(ConvolutionGradients, OfADilatedKernel) {
  expect_convolution_gradients(
      {.channels = 3, .kernel = {3, 2}, .stride = {1, 2}, .padding = {2, 1}, .dilation = {2, 3}});
}

TEST(ConvolutionGradients, OfEverythingTogether) {
  expect_convolution_gradients({.channels = 6,
                                .kernel = {3, 2},
                                .stride = {2, 1},
                                .padding = {1, 2},
                                .dilation = {1, 2},
                                .groups = 2,
                                .bias = false});
}

TEST(ReluGradients, PassWhereTheInputIsPositive) {
  Network network;
  const TensorId y = network.ops().relu("relu", network.first());
  expect_gradients_match(std::move(network).classify(y));
}

void expect_pooling_gradients(const PoolingAttributes& attributes) {
  for (const OpKind kind : {OpKind::max_pool, OpKind::average_pool}) {
    SCOPED_TRACE(op_name(kind));
    Network network;
    const TensorId y = network.ops().append(kind, "pool", {network.first()}, attributes);
    expect_gradients_match(std::move(network).classify(y));
  }
}

TEST(PoolingGradients, OfSeparateWindows) {
  expect_pooling_gradients({.kernel = {2, 3}, .stride = {2, 3}});
}

TEST(PoolingGradients, OfOverlappingWindowsWithPadding) {
  expect_pooling_gradients({.kernel = {3, 3}, .stride = {2, 1}, .padding = {1, 2}});
}

TEST(PoolingGradients, OfWindowsCutOffByCeil) {
  expect_pooling_gradients({.kernel = {2, 3}, .stride = {2, 2}, .padding = {0, 1}, .ceil = true});
}

TEST(PoolingGradients, OfTheWholeImage) {
  expect_pooling_gradients({.global = true});
}

void expect_lrn_gradients(std::int64_t channels, const LrnAttributes& attributes) {
  Network network({2, 3, 3, 2}, channels);
  const TensorId y = network.ops().lrn("lrn", network.first(), attributes);
  expect_gradients_match(std::move(network).classify(y));
}

TEST(LrnGradients, OfAWindowInsideTheChannels) {
  expect_lrn_gradients(7, {.size = 3, .alpha = 0.9, .beta = 0.75, .k = 1.5});
}

TEST(LrnGradients, OfAWindowWiderThanTheChannels) {
  expect_lrn_gradients(2, {.size = 5, .alpha = 2, .beta = 1.2, .k = 0.7});
}

TEST(DropoutGradients, PassWhereTheValueWasKept) {
  Network network;
  const TensorId y = network.ops().dropout("dropout", network.first(), {.probability = 0.3});
  expect_gradients_match(std::move(network).classify(y));
}

TEST(DropoutGradients, OfTwoMasksInARow) {
  Network network;
  const TensorId x = network.ops().dropout("dropout1", network.first(), {.probability = 0.25});
  const TensorId y = network.ops().dropout("dropout2", x, {.probability = 0.5});
  expect_gradients_match(std::move(network).classify(y));
}

TEST(FullyConnectedGradients, OfImagesAndOfVectors) {
  Network network;
  const TensorId hidden = network.ops().fully_connected("hidden", network.first(), {.features = 5});
  const TensorId y = network.ops().fully_connected("plain", hidden, {.features = 4, .bias = false});
  expect_gradients_match(std::move(network).classify(y));
}

// The bias in front of batch_norm has no effect on the loss, so the layer in front goes without.
TEST(BatchNormGradients, OfScaleShiftAndInput) {
  GraphBuilder builder("gradients", {3, 2, 3, 5});
  const TensorId x =
      builder.convolution("first", builder.input(), {.channels = 4, .kernel = {2, 2}, .bias = false});
  const TensorId y = builder.batch_norm("batch_norm", x, {.epsilon = 1e-2, .momentum = 0.3});
  builder.softmax_cross_entropy("loss", builder.fully_connected("classifier", y, {.features = 3}));
  expect_gradients_match(std::move(builder).build());
}

TEST(BatchNormGradients, OfTheFirstLayer) {
  GraphBuilder builder("gradients", {3, 2, 3, 5});
  const TensorId y = builder.batch_norm("batch_norm", builder.input());
  builder.softmax_cross_entropy("loss", builder.fully_connected("classifier", y, {.features = 3}));
  expect_gradients_match(std::move(builder).build());
}

TEST(LossGradients, AreScaledByTheWeight) {
  GraphBuilder builder("gradients", {4, 2, 2, 1});
  const TensorId logits = builder.fully_connected("classifier", builder.input(), {.features = 5});
  builder.softmax_cross_entropy("loss", logits, {.weight = 2.5});
  expect_gradients_match(std::move(builder).build());
}

TEST(LossGradients, OfTwoLossesAddUp) {
  Network network;
  auto& ops = network.ops();
  const TensorId x = ops.relu("relu", network.first());
  const TensorId side = ops.fully_connected("side", x, {.features = 3});
  ops.softmax_cross_entropy("side_loss", side, {.weight = 0.3});
  const TensorId y = ops.convolution("second", x, {.channels = 2, .kernel = {3, 3}});
  expect_gradients_match(std::move(network).classify(y));
}

TEST(LossGradients, OfTwoLossesOnTheSameLogitsAddUp) {
  Network network;
  auto& ops = network.ops();
  const TensorId logits = ops.fully_connected("logits", network.first(), {.features = 3});
  ops.softmax_cross_entropy("side_loss", logits, {.weight = 0.5});
  ops.softmax_cross_entropy("loss", logits);
  expect_gradients_match(std::move(ops).build());
}

TEST(ForkGradients, OfAddWithTheSameInputTwice) {
  Network network;
  const TensorId y = network.ops().add("sum", network.first(), network.first());
  expect_gradients_match(std::move(network).classify(y));
}

TEST(ForkGradients, OfAResidualBlock) {
  for (const bool shortcut_first : {true, false}) {
    Network network;
    auto& ops = network.ops();
    const TensorId x = ops.relu("relu1", network.first());
    TensorId y = ops.convolution("second", x, {.channels = 4, .kernel = {3, 3}, .padding = {1, 1}});
    y = ops.relu("relu2", y);
    y = ops.convolution("third", y, {.channels = 4, .kernel = {3, 3}, .padding = {1, 1}});
    y = shortcut_first ? ops.add("sum", x, y) : ops.add("sum", y, x);
    expect_gradients_match(std::move(network).classify(ops.relu("relu3", y)));
  }
}

// Both branches of the sum get the same gradient tensor, and both overwrite theirs where they may.
TEST(ForkGradients, OfASumOfTwoActivations) {
  Network network;
  auto& ops = network.ops();
  const TensorId a = ops.relu("relu", ops.convolution("left", network.first(), {.channels = 3}));
  const TensorId b = ops.dropout("dropout", ops.convolution("right", network.first(), {.channels = 3}), {});
  expect_gradients_match(std::move(network).classify(ops.relu("last", ops.add("sum", a, b))));
}

TEST(ForkGradients, OfAConcatWithAForkInFront) {
  Network network;
  auto& ops = network.ops();
  const TensorId x = network.first();
  const TensorId a = ops.convolution("left", x, {.channels = 2});
  const TensorId b = ops.max_pool("pool", x, {.kernel = {3, 3}, .padding = {1, 1}});
  const TensorId joined = ops.concat("joined", {a, x, b, ops.input()});
  expect_gradients_match(std::move(network).classify(joined));
}

TEST(ForkGradients, OfAConcatOfTheSameInputTwice) {
  Network network;
  const TensorId y = network.ops().concat("joined", {network.first(), network.first()});
  expect_gradients_match(std::move(network).classify(y));
}

TEST(ForkGradients, OfATensorWithFourReaders) {
  Network network;
  auto& ops = network.ops();
  const TensorId x = network.first();
  TensorId y = ops.add("sum1", ops.relu("relu", x), ops.lrn("lrn", x, {.size = 3, .alpha = 0.5}));
  y = ops.add("sum2", y, ops.dropout("dropout", x, {.probability = 0.2}));
  expect_gradients_match(std::move(network).classify(ops.add("sum3", x, y)));
}

}  // namespace
}  // namespace vdnn::testing
