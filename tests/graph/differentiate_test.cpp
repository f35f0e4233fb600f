#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "support/random_graph.h"
#include "vdnn/training_graph.h"

namespace vdnn::testing {
namespace {

using ::testing::ElementsAre;

constexpr std::uint64_t kSeeds = 300;

GraphBuilder images() {
  return {"net", {2, 3, 6, 6}};
}

TrainingGraph train(GraphBuilder builder, TensorId x, const SgdAttributes& optimizer = {.momentum = 0}) {
  builder.softmax_cross_entropy("loss", builder.fully_connected("fc", x, {.features = 4, .bias = false}));
  return differentiate(std::move(builder).build(), optimizer);
}

// "phase kind name(inputs) -> outputs"
std::string text_of(const TrainingGraph& graph, const TrainingOp& op) {
  const auto names = [&](const std::vector<TensorId>& ids) {
    std::string text;
    for (const auto id : ids) text += (text.empty() ? "" : ", ") + graph.tensor(id).name;
    return text;
  };
  return fmt::format("{} {} {}({}) -> {}", phase_name(op.phase), op_name(op.kind), op.name, names(op.inputs),
                     names(op.outputs));
}

std::vector<std::string> ops_of(const TrainingGraph& graph) {
  std::vector<std::string> result;
  for (const auto& op : graph.ops) result.push_back(text_of(graph, op));
  return result;
}

std::vector<std::string> ops_of(const TrainingGraph& graph, OpKind kind) {
  std::vector<std::string> result;
  for (const auto& op : graph.ops) {
    if (op.kind == kind) result.push_back(text_of(graph, op));
  }
  return result;
}

TensorId tensor_named(const TrainingGraph& graph, const std::string& name) {
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
    if (graph.tensors[i].name == name) return TensorId(i);
  }
  ADD_FAILURE() << "no tensor " << name;
  return {};
}

std::string storage_of(const TrainingGraph& graph, const std::string& name) {
  return graph.tensor(graph.storage[tensor_named(graph, name).index()]).name;
}

const Layer& layer_named(const TrainingGraph& graph, const std::string& name) {
  for (const auto& layer : graph.layers) {
    if (layer.name == name) return layer;
  }
  ADD_FAILURE() << "no layer " << name;
  return graph.layers[0];
}

// The first layer's backward ops make no gradient of the images, and every update follows its layer's.
TEST(TrainingGraphOrder, IsLoadForwardThenBackwardInReverseWithUpdates) {
  GraphBuilder b = images();
  const TensorId x = b.relu("relu", b.convolution("conv", b.input(), {.channels = 4}));
  EXPECT_THAT(
      ops_of(train(std::move(b), x, {.momentum = 0.9})),
      ElementsAre("load load_batch data(staged_images, staged_labels) -> images, labels",
                  "forward convolution conv(images, conv.weight, conv.bias) -> conv",
                  "forward relu relu(conv) -> relu", "forward fully_connected fc(relu, fc.weight) -> fc",
                  "forward softmax_cross_entropy loss(fc, labels) -> loss, loss.probabilities",
                  "backward softmax_cross_entropy_backward loss(loss.probabilities, labels) -> d_fc",
                  "backward fully_connected_backward_data fc(fc.weight, d_fc) -> d_relu",
                  "backward fully_connected_backward_weights fc(relu, d_fc) -> d_fc.weight",
                  "update sgd_update fc.weight(d_fc.weight, fc.weight, fc.weight.momentum) -> "
                  "fc.weight, fc.weight.momentum",
                  "backward relu_backward relu(d_relu, relu) -> d_conv",
                  "backward convolution_backward_weights conv(images, d_conv) -> d_conv.weight, d_conv.bias",
                  "update sgd_update conv.weight(d_conv.weight, conv.weight, conv.weight.momentum) -> "
                  "conv.weight, conv.weight.momentum",
                  "update sgd_update conv.bias(d_conv.bias, conv.bias, conv.bias.momentum) -> "
                  "conv.bias, conv.bias.momentum"));
}

TEST(TrainingGraphOrder, MakesWeightGradientsOfAConvolutionBeforeItsData) {
  GraphBuilder b = images();
  const TensorId x =
      b.convolution("conv2", b.convolution("conv1", b.input(), {.channels = 4}), {.channels = 2});
  const TrainingGraph graph = train(std::move(b), x);
  std::vector<std::string> of_conv2;
  for (const auto& op : graph.ops) {
    if (op.phase != Phase::forward && graph.layer(op.layer).name == "conv2") {
      of_conv2.emplace_back(op_name(op.kind));
    }
  }
  EXPECT_THAT(of_conv2, ElementsAre("convolution_backward_weights", "convolution_backward_data", "sgd_update",
                                    "sgd_update"));
}

TEST(TrainingGraphOrder, UpdatesEveryLearnedWeightOnceAfterItsLastRead) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const TrainingGraph graph = differentiate(random_graph(seed), {});
    std::set<TensorId> updated;
    for (const auto& op : graph.ops) {
      for (const auto input : op.inputs) EXPECT_FALSE(updated.contains(input)) << text_of(graph, op);
      if (op.kind == OpKind::sgd_update) updated.insert(op.outputs[0]);
    }
    for (const auto& parameter : graph.parameters) {
      EXPECT_EQ(updated.contains(parameter.tensor), !parameter.parameter.statistics)
          << parameter.parameter.name;
      EXPECT_EQ(parameter.optimizer_state.size(), parameter.parameter.statistics ? 0U : 1U);
    }
  }
}

TEST(TrainingGraphOrder, WritesEveryTensorOnceBeforeItIsRead) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const TrainingGraph graph = differentiate(random_graph(seed), {});
    std::set<TensorId> written;
    for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
      if (graph.tensors[i].persistent) written.insert(TensorId(i));
    }
    for (const auto& op : graph.ops) {
      for (const auto input : op.inputs) EXPECT_TRUE(written.contains(input)) << text_of(graph, op);
      for (const auto output : op.outputs) {
        EXPECT_NE(written.insert(output).second, graph.tensor(output).persistent) << text_of(graph, op);
      }
    }
    EXPECT_EQ(written.size(), graph.tensors.size());
  }
}

// Readers contribute from the last to the first.
TEST(Forks, SumGradientsInReverseOrderOfTheReaders) {
  GraphBuilder b = images();
  const TensorId x = b.convolution("conv", b.input(), {.channels = 2});
  const TensorId joined = b.concat("joined", {b.lrn("first", x, {.size = 3}), b.lrn("second", x, {.size = 1}),
                                              b.max_pool("third", x, {.kernel = {1, 1}})});
  const TrainingGraph graph = train(std::move(b), joined);
  std::vector<const TrainingOp*> sums;
  std::vector<TensorId> contributions;  // gradients of x in the order of their ops
  for (const auto& op : graph.ops) {
    if (op.kind == OpKind::add) sums.push_back(&op);
    if (op.kind == OpKind::lrn_backward || op.kind == OpKind::max_pool_backward) {
      EXPECT_EQ(op.name, (std::array{"third", "second", "first"}[contributions.size()]));
      contributions.push_back(op.outputs[0]);
    }
  }
  ASSERT_EQ(sums.size(), 2U);
  EXPECT_THAT(sums[0]->inputs, ElementsAre(contributions[0], contributions[1]));
  EXPECT_THAT(sums[1]->inputs, ElementsAre(sums[0]->outputs[0], contributions[2]));
  EXPECT_EQ(sums[0]->phase, Phase::backward);
  EXPECT_EQ(sums[0]->name, "conv_sum");
}

TEST(Forks, ShareTheGradientOfASumBetweenItsInputs) {
  GraphBuilder b = images();
  const TensorId left = b.convolution("left", b.input(), {.channels = 2, .bias = false});
  const TensorId right = b.convolution("right", b.input(), {.channels = 2, .bias = false});
  const TensorId sum = b.add("sum", left, right);
  EXPECT_THAT(ops_of(train(std::move(b), sum), OpKind::convolution_backward_weights),
              ElementsAre("backward convolution_backward_weights right(images, d_sum) -> d_right.weight",
                          "backward convolution_backward_weights left(images, d_sum) -> d_left.weight"));
}

TEST(Pruning, MakesNoGradientsInFrontOfTheFirstWeight) {
  GraphBuilder b = images();
  TensorId x = b.dropout("dropout", b.relu("relu", b.input()), {});
  x = b.max_pool("pool", b.lrn("lrn", x, {}), {.kernel = {2, 2}});
  const TensorId joined = b.concat("joined", {b.convolution("conv", x, {.channels = 2}), x});
  const TrainingGraph graph = train(std::move(b), joined);
  std::set<OpKind> backward;
  for (const auto& op : graph.ops) {
    if (op.phase == Phase::backward) backward.insert(op.kind);
  }
  EXPECT_EQ(backward,
            (std::set<OpKind>{OpKind::convolution_backward_weights, OpKind::fully_connected_backward_weights,
                              OpKind::fully_connected_backward_data, OpKind::split,
                              OpKind::softmax_cross_entropy_backward}));
}

TEST(InPlace, IsAnActivationWhoseInputNobodyReadsAfterwards) {
  GraphBuilder b = images();
  const TensorId conv = b.convolution("conv", b.input(), {.channels = 2});
  const TensorId pool = b.max_pool("pool", conv, {});  // does not read conv again backward
  const TensorId relu = b.relu("relu", conv);
  const TensorId joined = b.concat("joined", {pool, relu});
  const TrainingGraph graph = train(std::move(b), joined);
  EXPECT_EQ(storage_of(graph, "relu"), "conv");
  EXPECT_TRUE(layer_named(graph, "relu").in_place);
  EXPECT_FALSE(layer_named(graph, "pool").in_place);
  EXPECT_FALSE(layer_named(graph, "conv").in_place);
}

TEST(InPlace, IsNeverTheImages) {
  GraphBuilder b = images();
  const TensorId x = b.relu("relu", b.input());
  const TrainingGraph graph = train(std::move(b), x);
  EXPECT_EQ(storage_of(graph, "relu"), "relu");
}

TEST(InPlace, IsNotWhereALaterOpReadsTheInput) {
  GraphBuilder b = images();
  const TensorId conv = b.convolution("conv", b.input(), {.channels = 2});
  const TensorId relu = b.relu("relu", conv);
  const TensorId joined = b.concat("joined", {conv, relu});
  EXPECT_EQ(storage_of(train(std::move(b), joined), "relu"), "relu");
}

// lrn reads its input and relu its output backward; a pool and dropout read neither.
TEST(InPlace, RespectsWhatTheBackwardOpsRead) {
  GraphBuilder b = images();
  TensorId x = b.convolution("conv", b.input(), {.channels = 2});
  x = b.dropout("after_relu", b.relu("relu", x), {});
  x = b.relu("after_dropout", x);
  x = b.dropout("after_pool", b.average_pool("pool", b.lrn("lrn", x, {}), {}), {});
  const TrainingGraph graph = train(std::move(b), x);
  EXPECT_EQ(storage_of(graph, "relu"), "conv");
  EXPECT_EQ(storage_of(graph, "after_relu"), "after_relu");
  EXPECT_EQ(storage_of(graph, "after_dropout"), "after_relu");
  EXPECT_EQ(storage_of(graph, "after_pool"), "pool");
}

TEST(InPlace, SumsOverwriteTheFirstInputThatMayGo) {
  GraphBuilder b = images();
  const TensorId a = b.convolution("a", b.input(), {.channels = 3});
  const TensorId c = b.convolution("c", b.input(), {.channels = 3});
  const TensorId first = b.add("first", a, c);
  const TensorId d = b.convolution("d", first, {.channels = 3});  // reads first again, backward
  const TensorId second = b.add("second", first, d);
  const TensorId third = b.add("third", b.input(), second);
  const TrainingGraph graph = train(std::move(b), third);
  EXPECT_EQ(storage_of(graph, "first"), "a");
  EXPECT_EQ(storage_of(graph, "second"), "d");
  EXPECT_EQ(storage_of(graph, "third"), "d");
}

TEST(InPlace, NoOpReadsAValueThatWasOverwritten) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const TrainingGraph graph = differentiate(random_graph(seed), {});
    std::map<TensorId, TensorId> holds;  // storage root -> tensor written last
    for (const auto& op : graph.ops) {
      for (const auto input : op.inputs) {
        if (graph.tensor(input).persistent) continue;
        EXPECT_EQ(holds[graph.storage[input.index()]], input) << text_of(graph, op) << " seed " << seed;
      }
      for (const auto output : op.outputs) holds[graph.storage[output.index()]] = output;
    }
    for (const auto loss : graph.losses) EXPECT_EQ(holds[loss], loss);
  }
}

TEST(InPlace, SharesOnlyMemoryOfEqualSizeAndKind) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const TrainingGraph graph = differentiate(random_graph(seed), {});
    for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
      const TensorId root = graph.storage[i];
      EXPECT_EQ(graph.storage[root.index()], root);
      EXPECT_EQ(graph.tensor(root).shape, graph.tensors[i].shape);
      EXPECT_EQ(graph.tensor(root).type, graph.tensors[i].type);
      EXPECT_EQ(graph.tensor(root).role, graph.tensors[i].role);
    }
  }
}

TEST(LayerClass, IsClassifierFromTheFirstFullyConnectedLayerOn) {
  GraphBuilder b = images();
  const TensorId conv = b.convolution("conv", b.input(), {.channels = 2});
  b.softmax_cross_entropy("side_loss", b.fully_connected("side", conv, {.features = 4}));
  const TensorId pool = b.max_pool("pool", conv, {});
  const TensorId hidden = b.relu("relu", b.fully_connected("hidden", pool, {.features = 5}));
  const TensorId x = b.dropout("dropout", hidden, {});
  const TrainingGraph graph = train(std::move(b), x);
  for (const auto* name : {"data", "conv", "pool"}) {
    EXPECT_EQ(layer_named(graph, name).layer_class, LayerClass::feature_extraction) << name;
  }
  for (const auto* name : {"side", "side_loss", "hidden", "relu", "dropout", "fc", "loss"}) {
    EXPECT_EQ(layer_named(graph, name).layer_class, LayerClass::classifier) << name;
  }
}

TEST(Optimizer, HasNoStateWithoutMomentum) {
  GraphBuilder b = images();
  const TensorId x = b.batch_norm("norm", b.input());
  const TrainingGraph graph = train(std::move(b), x, {.momentum = 0, .weight_decay = 0.1});
  for (const auto& parameter : graph.parameters) EXPECT_TRUE(parameter.optimizer_state.empty());
  EXPECT_THAT(ops_of(graph, OpKind::sgd_update),
              ElementsAre("update sgd_update fc.weight(d_fc.weight, fc.weight) -> fc.weight",
                          "update sgd_update norm.weight(d_norm.weight, norm.weight) -> norm.weight",
                          "update sgd_update norm.bias(d_norm.bias, norm.bias) -> norm.bias"));
}

TEST(BatchNormInTraining, MovesItsRunningStatisticsByAnOpOfItsOwn) {
  GraphBuilder b = images();
  const TensorId x = b.batch_norm("norm", b.input());
  const TrainingGraph graph = train(std::move(b), x);
  EXPECT_THAT(ops_of(graph, OpKind::batch_norm),
              ElementsAre("forward batch_norm norm(images, norm.weight, norm.bias) -> norm, norm.mean, "
                          "norm.variance"));
  EXPECT_THAT(ops_of(graph, OpKind::batch_norm_statistics),
              ElementsAre("forward batch_norm_statistics norm(norm.mean, norm.variance, norm.running_mean, "
                          "norm.running_var) -> norm.running_mean, norm.running_var"));
}

TEST(RandomStreams, AreOfOneDropoutEachAndSharedByItsBackward) {
  GraphBuilder b = images();
  TensorId x = b.convolution("conv", b.input(), {.channels = 2});
  x = b.dropout("second", b.dropout("first", x, {}), {});
  const TrainingGraph graph = train(std::move(b), x);
  std::map<std::string, std::vector<std::uint32_t>> streams;
  for (const auto& op : graph.ops) {
    if (op.kind == OpKind::dropout || op.kind == OpKind::dropout_backward) {
      streams[op.name].push_back(op.random_stream);
    }
  }
  ASSERT_EQ(streams["first"].size(), 2U);
  EXPECT_EQ(streams["first"][0], streams["first"][1]);
  EXPECT_EQ(streams["second"][0], streams["second"][1]);
  EXPECT_NE(streams["first"][0], streams["second"][0]);
}

}  // namespace
}  // namespace vdnn::testing
