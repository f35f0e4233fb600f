#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>

#include "vdnn/error.h"
#include "vdnn/graph.h"

namespace vdnn::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

const Shape kImages = {2, 6, 9, 7};

Shape output_of(OpKind kind, const Attributes& attributes, const Shape& input = kImages) {
  GraphBuilder builder("shapes", input);
  return builder.shape(builder.append(kind, "op", {builder.input()}, attributes));
}

// What() of the ModelError that `build` throws; empty when it throws none.
std::string refusal(const std::function<void(GraphBuilder&)>& build, const Shape& input = kImages) {
  GraphBuilder builder("shapes", input);
  try {
    build(builder);
    return "";
  } catch (const ModelError& error) {
    return error.what();
  }
}

std::string refusal_of(OpKind kind, const Attributes& attributes, const Shape& input = kImages) {
  return refusal([&](GraphBuilder& builder) { builder.append(kind, "op", {builder.input()}, attributes); },
                 input);
}

TEST(ConvolutionShape, RoundsDown) {
  const ConvolutionAttributes a = {.channels = 4, .kernel = {3, 2}, .stride = {2, 3}, .padding = {1, 0}};
  EXPECT_EQ(output_of(OpKind::convolution, a), Shape({2, 4, 5, 2}));
}

TEST(ConvolutionShape, CountsTheDilatedKernel) {
  EXPECT_EQ(output_of(OpKind::convolution,
                      ConvolutionAttributes{.channels = 1, .kernel = {3, 3}, .dilation = {4, 3}}),
            Shape({2, 1, 1, 1}));
}

TEST(ConvolutionShape, GivesWeightsPerGroupAndABiasPerChannel) {
  GraphBuilder builder("shapes", kImages);
  auto x = builder.convolution("conv", builder.input(), {.channels = 4, .kernel = {3, 2}, .groups = 2});
  builder.softmax_cross_entropy("loss", builder.fully_connected("fc", x, {.features = 3, .bias = false}));
  const Graph graph = std::move(builder).build();
  const auto& parameters = graph.ops()[0].parameters;
  ASSERT_EQ(parameters.size(), 2U);
  EXPECT_EQ(parameters[0].name, "conv.weight");
  EXPECT_EQ(parameters[0].shape, Shape({4, 3, 3, 2}));
  EXPECT_EQ(parameters[0].fan_in, 18);
  EXPECT_EQ(parameters[1].name, "conv.bias");
  EXPECT_EQ(parameters[1].shape, Shape({4}));
  ASSERT_EQ(graph.ops()[1].parameters.size(), 1U);
  EXPECT_EQ(graph.ops()[1].parameters[0].shape, Shape({3, 4 * 7 * 6}));
  EXPECT_EQ(graph.parameter_count(), 72 + 4 + 504);
}

TEST(ConvolutionShape, RefusesAWindowLargerThanTheImage) {
  EXPECT_THAT(refusal_of(OpKind::convolution, ConvolutionAttributes{.channels = 1, .kernel = {3, 8}}),
              AllOf(HasSubstr("convolution op"), HasSubstr("3x8"), HasSubstr("2x6x9x7")));
  EXPECT_THAT(refusal_of(OpKind::convolution,
                         ConvolutionAttributes{.channels = 1, .kernel = {5, 1}, .dilation = {3, 1}}),
              HasSubstr("too small"));
}

TEST(ConvolutionShape, RefusesGroupsThatDoNotDivide) {
  EXPECT_THAT(refusal_of(OpKind::convolution, ConvolutionAttributes{.channels = 8, .groups = 4}),
              AllOf(HasSubstr("convolution op"), HasSubstr("4 groups"), HasSubstr("6 input"),
                    HasSubstr("8 output"), HasSubstr("2x6x9x7")));
  EXPECT_THAT(refusal_of(OpKind::convolution, ConvolutionAttributes{.channels = 8, .groups = 3}),
              HasSubstr("3 groups"));
  EXPECT_THAT(refusal_of(OpKind::convolution, ConvolutionAttributes{.channels = 8, .groups = 0}),
              HasSubstr("0 groups"));
}

TEST(ConvolutionShape, RefusesSizesBelowOne) {
  for (const auto& a :
       {ConvolutionAttributes{.channels = 0}, ConvolutionAttributes{.channels = 1, .kernel = {0, 1}},
        ConvolutionAttributes{.channels = 1, .stride = {1, 0}},
        ConvolutionAttributes{.channels = 1, .padding = {-1, 0}},
        ConvolutionAttributes{.channels = 1, .dilation = {0, 1}}}) {
    EXPECT_THAT(refusal_of(OpKind::convolution, a),
                AllOf(HasSubstr("convolution op"), HasSubstr("at least")));
  }
}

TEST(PoolingShape, RoundsDownOrUp) {
  for (const OpKind kind : {OpKind::max_pool, OpKind::average_pool}) {
    PoolingAttributes a = {.kernel = {2, 3}, .stride = {2, 2}};
    EXPECT_EQ(output_of(kind, a), Shape({2, 6, 4, 3}));
    a.ceil = true;
    EXPECT_EQ(output_of(kind, a), Shape({2, 6, 5, 3}));
  }
}

// 7 / 3 rounded up gives a fourth window, which starts at pixel 9 of an image of 9.
TEST(PoolingShape, HasNoWindowThatStartsBehindTheImage) {
  EXPECT_EQ(output_of(OpKind::max_pool, PoolingAttributes{.kernel = {2, 1}, .stride = {3, 1}, .ceil = true}),
            Shape({2, 6, 3, 7}));
  EXPECT_EQ(output_of(OpKind::max_pool,
                      PoolingAttributes{.kernel = {3, 2}, .stride = {5, 4}, .padding = {0, 1}, .ceil = true}),
            Shape({2, 6, 2, 2}));
}

TEST(PoolingShape, IsOnePixelWhenGlobal) {
  EXPECT_EQ(output_of(OpKind::average_pool, PoolingAttributes{.global = true}), Shape({2, 6, 1, 1}));
}

TEST(PoolingShape, RefusesWindowsThatDoNotFit) {
  EXPECT_THAT(refusal_of(OpKind::max_pool, PoolingAttributes{.kernel = {10, 2}}),
              AllOf(HasSubstr("max_pool op"), HasSubstr("10x2"), HasSubstr("2x6x9x7")));
  EXPECT_THAT(refusal_of(OpKind::average_pool, PoolingAttributes{.kernel = {2, 2}, .padding = {0, 2}}),
              AllOf(HasSubstr("average_pool op"), HasSubstr("padding")));
}

TEST(ElementwiseShape, IsTheInputs) {
  EXPECT_EQ(output_of(OpKind::relu, NoAttributes{}), kImages);
  EXPECT_EQ(output_of(OpKind::dropout, DropoutAttributes{}), kImages);
  EXPECT_EQ(output_of(OpKind::lrn, LrnAttributes{}), kImages);
  EXPECT_EQ(output_of(OpKind::batch_norm, BatchNormAttributes{}), kImages);
}

TEST(ElementwiseShape, RefusesAttributesOutOfRange) {
  EXPECT_THAT(refusal_of(OpKind::dropout, DropoutAttributes{.probability = 1}),
              AllOf(HasSubstr("dropout op"), HasSubstr("probability")));
  EXPECT_THAT(
      refusal_of(OpKind::dropout, DropoutAttributes{.probability = std::numeric_limits<double>::quiet_NaN()}),
      HasSubstr("probability"));
  EXPECT_THAT(refusal_of(OpKind::lrn, LrnAttributes{.size = 4}),
              AllOf(HasSubstr("lrn op"), HasSubstr("odd")));
  EXPECT_THAT(refusal_of(OpKind::batch_norm, BatchNormAttributes{.epsilon = 0}), HasSubstr("epsilon"));
  EXPECT_THAT(refusal_of(OpKind::batch_norm, BatchNormAttributes{}, {1, 6, 1, 1}),
              AllOf(HasSubstr("batch_norm op"), HasSubstr("two values"), HasSubstr("1x6x1x1")));
}

TEST(FullyConnectedShape, IsBatchTimesFeatures) {
  EXPECT_EQ(output_of(OpKind::fully_connected, FullyConnectedAttributes{.features = 10}), Shape({2, 10}));
  EXPECT_THAT(refusal_of(OpKind::fully_connected, FullyConnectedAttributes{}), HasSubstr("features"));
}

TEST(ConcatShape, AddsTheChannels) {
  GraphBuilder builder("shapes", kImages);
  const TensorId y = builder.convolution("conv", builder.input(), {.channels = 5});
  EXPECT_EQ(builder.shape(builder.concat("joined", {builder.input(), y, builder.input()})),
            Shape({2, 17, 9, 7}));
}

TEST(ConcatShape, RefusesImagesOfOtherSizes) {
  EXPECT_THAT(refusal([](GraphBuilder& builder) {
                const TensorId y = builder.max_pool("pool", builder.input(), {.kernel = {2, 2}});
                builder.concat("joined", {builder.input(), y});
              }),
              AllOf(HasSubstr("concat joined"), HasSubstr("2x6x9x7"), HasSubstr("2x6x8x6")));
}

TEST(AddShape, RefusesOtherShapes) {
  EXPECT_THAT(refusal([](GraphBuilder& builder) {
                const TensorId y = builder.convolution("conv", builder.input(), {.channels = 5});
                builder.add("sum", y, builder.input());
              }),
              AllOf(HasSubstr("add sum"), HasSubstr("2x5x9x7, 2x6x9x7")));
}

TEST(LossShape, IsOneNumberAndWantsVectors) {
  GraphBuilder builder("shapes", kImages);
  const TensorId logits = builder.fully_connected("fc", builder.input(), {.features = 4});
  EXPECT_EQ(builder.shape(builder.softmax_cross_entropy("loss", logits)), Shape({1}));
  EXPECT_THAT(refusal_of(OpKind::softmax_cross_entropy, SoftmaxCrossEntropyAttributes{}),
              AllOf(HasSubstr("softmax_cross_entropy op"), HasSubstr("2x6x9x7")));
}

TEST(LossShape, RefusesLossesOfOtherClasses) {
  EXPECT_THAT(refusal([](GraphBuilder& builder) {
                builder.softmax_cross_entropy(
                    "loss1", builder.fully_connected("fc1", builder.input(), {.features = 4}));
                builder.softmax_cross_entropy(
                    "loss2", builder.fully_connected("fc2", builder.input(), {.features = 5}));
              }),
              AllOf(HasSubstr("loss2"), HasSubstr("4 classes"), HasSubstr("2x5")));
}

TEST(Builder, RefusesInputsThatAreNoImages) {
  for (const Shape& input : {Shape{2, 3, 4}, Shape{0, 3, 4, 4}, Shape{2, 3, 4, -1}}) {
    try {
      GraphBuilder builder("net", input);
      FAIL() << input.text();
    } catch (const ModelError& error) {
      EXPECT_THAT(error.what(), AllOf(HasSubstr("net"), HasSubstr(input.text())));
    }
  }
}

TEST(Builder, RefusesTheWrongNumberOfInputsAndForeignTensors) {
  EXPECT_THAT(refusal([](GraphBuilder& b) { b.append(OpKind::add, "sum", {b.input()}, NoAttributes{}); }),
              AllOf(HasSubstr("add sum"), HasSubstr("2 inputs, not 1")));
  EXPECT_THAT(refusal([](GraphBuilder& b) { b.relu("relu", TensorId(7)); }), HasSubstr("relu relu"));
}

TEST(Builder, RefusesBadNamesAndOpsOfTrainingGraphs) {
  EXPECT_THAT(refusal([](GraphBuilder& b) { b.relu("a b", b.input()); }), HasSubstr("'a b' is not a name"));
  EXPECT_THAT(refusal([](GraphBuilder& b) { b.relu("input", b.input()); }), HasSubstr("taken"));
  EXPECT_THAT(refusal_of(OpKind::relu_backward, NoAttributes{}), HasSubstr("relu_backward"));
  EXPECT_THAT(refusal_of(OpKind::lrn, NoAttributes{}), HasSubstr("attributes of another op"));
}

TEST(Builder, RefusesAnOutputThatReachesNoLoss) {
  EXPECT_THAT(refusal([](GraphBuilder& b) {
                b.relu("dangling", b.input());
                b.softmax_cross_entropy("loss", b.fully_connected("fc", b.input(), {.features = 2}));
                static_cast<void>(std::move(b).build());
              }),
              AllOf(HasSubstr("relu dangling"), HasSubstr("no loss")));
}

TEST(Builder, RefusesANetworkWithoutALoss) {
  EXPECT_THAT(refusal([](GraphBuilder& b) { static_cast<void>(std::move(b).build()); }),
              AllOf(HasSubstr("shapes"), HasSubstr("softmax_cross_entropy")));
}

TEST(Builder, LetsNothingFollowALoss) {
  EXPECT_THAT(refusal([](GraphBuilder& b) {
                const TensorId loss =
                    b.softmax_cross_entropy("loss", b.fully_connected("fc", b.input(), {.features = 2}));
                const TensorId sum = b.add("twice", loss, loss);
                static_cast<void>(sum);
                static_cast<void>(std::move(b).build());
              }),
              HasSubstr("twice"));
}

TEST(Bytes, ThatOverflowAreAUsageErrorWithTheShape) {
  constexpr std::int64_t kHuge = std::int64_t{1} << 40;
  EXPECT_THROW(GraphBuilder("net", {kHuge, 3, kHuge, 1}), UsageError);
  GraphBuilder builder("net", {1 << 20, 3, 8, 8});
  try {
    builder.convolution("conv", builder.input(), {.channels = kHuge});
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("1048576x1099511627776x8x8"), HasSubstr("overflows")));
  }
  EXPECT_THROW(builder.fully_connected("fc", builder.input(), {.features = kHuge}), UsageError);
}

TEST(Bytes, OfWindowsThatOverflowAreErrors) {
  constexpr std::int64_t kHuge = std::int64_t{1} << 39;
  const ConvolutionAttributes dilated = {.channels = 1, .kernel = {kHuge, kHuge}, .dilation = {kHuge, kHuge}};
  EXPECT_THAT(refusal_of(OpKind::convolution, dilated), HasSubstr("too small"));
  GraphBuilder builder("net", {1, 1, 8, 8});
  EXPECT_THROW(builder.convolution("conv", builder.input(),
                                   {.channels = 1,
                                    .kernel = {kHuge, kHuge},
                                    .stride = {2 * kHuge, 2 * kHuge},
                                    .padding = {kHuge, kHuge}}),
               UsageError);
}

TEST(Bytes, OfWeightsThatOverflowAreAUsageError) {
  GraphBuilder builder("net", {1, 1 << 10, 1 << 10, 1});
  EXPECT_THROW(builder.fully_connected("fc", builder.input(), {.features = 1 << 25}), UsageError);
}

TEST(ShapeText, IsTheExtentsWithCrosses) {
  EXPECT_EQ(Shape({32, 3, 224, 224}).text(), "32x3x224x224");
  EXPECT_EQ(Shape({32, 3, 224, 224}).elements(), 4816896);
  EXPECT_EQ(Shape({32, 3, 224, 224}).elements_per_example(), 150528);
  EXPECT_EQ(checked_bytes({2, 3}), 24);
}

}  // namespace
}  // namespace vdnn::testing
