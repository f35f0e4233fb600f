#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plan/sample_network.h"
#include "vdnn/error.h"

// The paper's rules on networks small enough to follow by hand. Maps of in-place activations have the name
// of the convolution before them: "conv1" is the output of relu1.
namespace vdnn::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

const ConvolutionAttributes kConvolution{.channels = 16, .kernel = {3, 3}, .padding = {1, 1}};

void add_loss(GraphBuilder& b, TensorId x) {
  b.softmax_cross_entropy("loss", b.fully_connected("fc", x, {.features = 10}));
}

// conv2 is the pool's input: read by relu2 backward. conv3, read by the classifier alone, stays.
TEST(VdnnAll, OffloadsInputsOfFeatureLayersThatAreNotInPlaceAndThePoolsIndices) {
  EXPECT_THAT(NamedPlan(sample_network(), "vdnn-all").offloaded(),
              UnorderedElementsAre("images", "conv1", "conv2", "pool", "pool.indices"));
}

TEST(VdnnConv, OffloadsInputsOfConvolutionsOnly) {
  EXPECT_THAT(NamedPlan(sample_network(), "vdnn-conv").offloaded(),
              UnorderedElementsAre("images", "conv1", "pool"));
}

TEST(VdnnAll, ACopyStartsWithTheLayerThatReadsTheMap) {
  const NamedPlan p(sample_network(), "vdnn-all");
  EXPECT_EQ(p.offloaded_with("images"), p.forward("conv1"));
  EXPECT_EQ(p.offloaded_with("conv1"), p.forward("conv2"));
  EXPECT_EQ(p.offloaded_with("conv2"), p.forward("pool"));
  EXPECT_EQ(p.offloaded_with("pool"), p.forward("conv3"));
}

// They are complete only when the pool is over.
TEST(VdnnAll, SavedStateLeavesBehindTheLayerThatMakesIt) {
  const NamedPlan p(sample_network(), "vdnn-all");
  EXPECT_EQ(p.offloaded_with("pool.indices"), p.forward("conv3"));
}

TEST(VdnnAll, TheNextLayerWaitsForTheCopyAndFindsTheMapReleased) {
  const NamedPlan p(sample_network(), "vdnn-all");
  for (const auto& [map, reader, next] : {std::tuple{"images", "conv1", "relu1"},
                                          {"conv1", "conv2", "relu2"},
                                          {"conv2", "pool", "conv3"},
                                          {"pool", "conv3", "relu3"}}) {
    const auto stays = p.stays(map);
    ASSERT_EQ(stays.size(), 2U) << map;
    EXPECT_EQ(stays[0].end, p.forward(reader) + 1) << map;
    const auto copy = static_cast<std::int32_t>(p.copy(StepKind::offload, map));
    EXPECT_THAT(p.plan().steps[static_cast<std::size_t>(p.forward(next))].waits,
                ::testing::Contains(::testing::Ge(copy)))
        << map;
  }
}

// Backward: loss fc relu3 conv3 pool relu2 conv2 relu1 conv1. conv2, the pool's input, is read by relu2.
TEST(VdnnAll, EachLayerFetchesTheNextMapInItsWindow) {
  const NamedPlan p(sample_network(), "vdnn-all");
  EXPECT_EQ(p.fetched_with("pool"), p.backward("loss")) << "for conv3";
  EXPECT_EQ(p.fetched_with("pool.indices"), p.backward("conv3"))
      << "fc and relu3 must stop at conv3, already fetched";
  EXPECT_EQ(p.fetched_with("conv2"), p.backward("pool")) << "one layer per step";
  EXPECT_EQ(p.fetched_with("conv1"), p.backward("relu2")) << "for conv2";
  EXPECT_EQ(p.fetched_with("images"), p.backward("conv2")) << "for conv1: relu1 does not stop the walk";
}

TEST(VdnnConv, TheWindowPassesLayersThatAreNoConvolutions) {
  const NamedPlan p(sample_network(), "vdnn-conv");
  EXPECT_EQ(p.fetched_with("pool"), p.backward("loss"));
  EXPECT_EQ(p.fetched_with("conv1"), p.backward("conv3")) << "over pool and relu2 to conv2";
  EXPECT_EQ(p.fetched_with("images"), p.backward("conv2"));
}

// conv2 has one channel, so that conv3's input is too small to move.
TEST(VdnnConv, TheWindowStopsAtAConvolutionThatFetchesNothing) {
  GraphBuilder b("narrow", {4, 3, 16, 16});
  TensorId x = b.convolution("conv1", b.input(), kConvolution);
  x = b.convolution("conv2", x, {.channels = 1});
  x = b.convolution("conv3", x, kConvolution);
  add_loss(b, b.convolution("conv4", x, kConvolution));
  const NamedPlan p(std::move(b).build(), "vdnn-conv");
  EXPECT_THAT(p.offloaded(), UnorderedElementsAre("conv1", "conv3"));
  EXPECT_EQ(p.fetched_with("conv3"), p.backward("loss"));
  EXPECT_EQ(p.fetched_with("conv1"), p.backward("conv3")) << "fc must stop at conv4, conv4 at conv3";
}

TEST(VdnnPolicies, TheLayerBehindAFetchWaitsForIt) {
  const NamedPlan p(sample_network(), "vdnn-all");
  for (const auto& [map, next] : {std::pair{"pool", "fc"},
                                  {"pool.indices", "pool"},
                                  {"conv2", "relu2"},
                                  {"conv1", "conv2"},
                                  {"images", "relu1"}}) {
    const auto copy = static_cast<std::int32_t>(p.copy(StepKind::prefetch, map));
    EXPECT_THAT(p.plan().steps[static_cast<std::size_t>(p.backward(next))].waits, ::testing::Contains(copy))
        << map;
  }
}

TEST(VdnnAll, AFetchedMapStaysFromItsFetchToItsLastReader) {
  const NamedPlan p(sample_network(), "vdnn-all");
  EXPECT_THAT(p.stays("images"), ElementsAre(::testing::_, Interval{p.copy(StepKind::prefetch, "images"),
                                                                    p.backward("conv1") + 1}));
  EXPECT_THAT(p.stays("pool"), ElementsAre(::testing::_, Interval{p.copy(StepKind::prefetch, "pool"),
                                                                  p.backward("conv3") + 1}));
}

TEST(VdnnPolicies, ClassifierInputsStay) {
  for (const auto* policy : {"vdnn-all", "vdnn-conv"}) {
    const NamedPlan p(sample_network(), policy);
    EXPECT_THAT(p.stays("conv3"), ElementsAre(Interval{p.forward("conv3"), p.backward("relu3") + 1}))
        << policy;
  }
}

// A map with two readers, a convolution and then a pool.
NamedPlan fork(std::string_view policy) {
  GraphBuilder b("fork", {4, 3, 64, 64});
  const TensorId x = b.relu("relu0", b.convolution("conv0", b.input(), kConvolution));
  const TensorId left = b.convolution("left", x, kConvolution);
  const TensorId right = b.max_pool("right", x, {.kernel = {3, 3}, .padding = {1, 1}});
  add_loss(b, b.concat("join", {left, right}));
  return {std::move(b).build(), policy};
}

TEST(VdnnConv, AForkIsCopiedWithTheLastConvolutionAndReleasedAfterTheLastReader) {
  const NamedPlan p = fork("vdnn-conv");
  EXPECT_EQ(p.offloaded_with("conv0"), p.forward("left"));
  ASSERT_EQ(p.stays("conv0").size(), 2U);
  EXPECT_EQ(p.stays("conv0")[0], (Interval{p.forward("conv0"), p.forward("right") + 1}));
}

TEST(VdnnAll, AForkIsCopiedWithItsLastReaderOfTheClass) {
  const NamedPlan p = fork("vdnn-all");
  EXPECT_EQ(p.offloaded_with("conv0"), p.forward("right"));
  ASSERT_EQ(p.stays("conv0").size(), 2U);
  EXPECT_EQ(p.stays("conv0")[0], (Interval{p.forward("conv0"), p.forward("right") + 1}));
}

TEST(VdnnAll, AForkIsCopiedOnce) {
  const NamedPlan p = fork("vdnn-all");
  EXPECT_THAT(p.offloaded(), UnorderedElementsAre("images", "conv0", "right.indices"));
}

// Concat keeps nothing for backward: its inputs are dead when it is over.
TEST(VdnnAll, MapsThatNobodyReadsBackwardAreReleasedWithoutACopy) {
  const NamedPlan p = fork("vdnn-all");
  EXPECT_THAT(p.stays("left"), ElementsAre(Interval{p.forward("left"), p.forward("join") + 1}));
  EXPECT_THAT(p.stays("right"), ElementsAre(Interval{p.forward("right"), p.forward("join") + 1}));
}

// relu overwrites what left and right read, because its output's only reader is the classifier: what remains
// is not an input of any feature layer.
TEST(VdnnAll, AMapThatAnInPlaceLayerOverwritesLaterStays) {
  GraphBuilder b("overwritten", {4, 3, 64, 64});
  const TensorId x = b.convolution("conv", b.input(), kConvolution);
  const TensorId pooled = b.average_pool("pool", x, {.kernel = {2, 2}, .stride = {2, 2}});
  const TensorId a = b.fully_connected("a", pooled, {.features = 10});
  const TensorId c = b.fully_connected("c", b.relu("relu", x), {.features = 10});
  b.softmax_cross_entropy("loss", b.add("sum", a, c));
  const NamedPlan p(std::move(b).build(), "vdnn-all");
  EXPECT_THAT(verify_plan(p.program(), p.plan()), IsEmpty());
  EXPECT_THAT(p.offloaded(), ElementsAre("images"));
}

TEST(VdnnAll, APoolBehindAPoolIsReleasedWithoutACopy) {
  GraphBuilder b("pools", {4, 3, 64, 64});
  TensorId x = b.convolution("conv", b.input(), kConvolution);
  x = b.average_pool("pool1", x, {.kernel = {2, 2}, .stride = {2, 2}});
  add_loss(b, b.average_pool("pool2", x, {.kernel = {2, 2}, .stride = {2, 2}}));
  const NamedPlan p(std::move(b).build(), "vdnn-all");
  EXPECT_THAT(p.offloaded(), ElementsAre("images"));
  EXPECT_THAT(p.stays("conv"), ElementsAre(Interval{p.forward("conv"), p.forward("pool1") + 1}));
  EXPECT_THAT(p.stays("pool1"), ElementsAre(Interval{p.forward("pool1"), p.forward("pool2") + 1}));
}

TEST(VdnnPolicies, NothingBelow64KiBMoves) {
  EXPECT_THAT(NamedPlan(sample_network(4), "vdnn-all").offloaded(), IsEmpty());
  EXPECT_THAT(NamedPlan(sample_network(4), "vdnn-conv").offloaded(), IsEmpty());
}

TEST(VdnnPolicies, AMapOf64KiBMovesAndOneOfAByteRowLessDoesNot) {
  for (const auto& [width, moves] : {std::pair{128, true}, {127, false}}) {
    GraphBuilder b("row", {1, 1, 64, width});
    add_loss(b, b.convolution("conv", b.input(), {.channels = 1}));
    EXPECT_EQ(NamedPlan(std::move(b).build(), "vdnn-all").copy(StepKind::offload, "images") >= 0, moves)
        << width;
  }
}

TEST(VdnnPolicies, WeightsAndStagedBatchesStay) {
  const NamedPlan p(sample_network(), "vdnn-all");
  const auto steps = static_cast<std::int64_t>(p.plan().steps.size());
  for (const auto& buffer : p.program().buffers) {
    if (buffer.persistent) {
      EXPECT_THAT(p.stays(buffer.name), ElementsAre(Interval{0, steps})) << buffer.name;
    }
  }
}

TEST(VdnnPolicies, TheTierHoldsEveryOffloadedMapOnce) {
  const NamedPlan p(sample_network(), "vdnn-all");
  EXPECT_EQ(p.plan().tier_bytes, simulate(p.program(), p.plan(), {}).offloaded_bytes);
}

TEST(Baseline, KeepsEveryMapAtAnAddressOfItsOwn) {
  const NamedPlan p(sample_network(), "baseline");
  const auto steps = static_cast<std::int64_t>(p.plan().steps.size());
  EXPECT_THAT(p.offloaded(), IsEmpty());
  for (const auto* map : {"images", "conv1", "conv2", "pool", "conv3", "conv1.weight"}) {
    EXPECT_THAT(p.stays(map), ElementsAre(Interval{0, steps})) << map;
  }
}

TEST(Policies, AnUnknownNameIsRefusedWithTheNearest) {
  const Program program = lowered(sample_network(4));
  try {
    make_plan(program, {.policy = "vdn-all"});
    FAIL() << "accepted";
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), HasSubstr("vdnn-all"));
  }
}

TEST(Policies, AnAssignmentOfAnotherSizeIsRefused) {
  const Program program = lowered(sample_network(4));
  EXPECT_THROW(make_plan(program, {.policy = "vdnn-all", .budget_bytes = kUnlimited, .assignment = {{0, 0}}}),
               UsageError);
}

}  // namespace
}  // namespace vdnn::testing
