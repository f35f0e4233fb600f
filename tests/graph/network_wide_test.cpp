#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "vdnn/training_graph.h"
#include "vdnn/zoo.h"

// The arithmetic of network-wide allocation against figures that were computed independently of this code:
// fp32, in-place activations, no workspace, no saved state.
namespace vdnn {
namespace {

TrainingGraph training_graph(const std::string& network, std::int64_t batch) {
  return differentiate(make_model(network, {.batch = batch}), {});
}

// Feature maps with the input, by tensor. A concatenation without a copy lets its inputs lie in its output,
// so maps that only it reads do not count.
std::map<std::size_t, std::int64_t> feature_map_bytes(const TrainingGraph& graph) {
  std::map<std::size_t, std::int64_t> bytes;
  for (std::size_t t = 0; t < graph.tensors.size(); ++t) {
    const auto& tensor = graph.tensors[t];
    const bool map = tensor.role == Role::feature_map || (tensor.role == Role::input && !tensor.persistent);
    if (map && tensor.type == DataType::float32 && graph.storage[t] == TensorId(t)) {
      bytes[t] = tensor.shape.elements() * 4;
    }
  }
  for (const auto& op : graph.ops) {
    if (op.kind != OpKind::concat) continue;
    for (const auto input : op.inputs) bytes.erase(graph.storage[input.index()].index());
  }
  return bytes;
}

// Feature maps + 2 x weights + 2 x the largest map, as an output and its gradient are at most.
double base_gigabytes(const TrainingGraph& graph) {
  std::int64_t sum = 0;
  std::int64_t largest = 0;
  for (const auto& [tensor, bytes] : feature_map_bytes(graph)) {
    sum += bytes;
    largest = std::max(largest, bytes);
  }
  return static_cast<double>(sum + 2 * network_wide(graph).weight_bytes + 2 * largest) * 1e-9;
}

struct Row {
  const char* network;
  std::int64_t batch;
  double base_gigabytes;
};

class NetworkWideTable : public ::testing::TestWithParam<Row> {};

TEST_P(NetworkWideTable, TheBaseIsWithinOnePercent) {
  const double gigabytes = base_gigabytes(training_graph(GetParam().network, GetParam().batch));
  fmt::print("{}({}): base {:.3f} GB, expected {:.2f}\n", GetParam().network, GetParam().batch, gigabytes,
             GetParam().base_gigabytes);
  EXPECT_NEAR(gigabytes, GetParam().base_gigabytes, 0.01 * GetParam().base_gigabytes);
}

INSTANTIATE_TEST_SUITE_P(Networks, NetworkWideTable,
                         ::testing::Values(Row{"alexnet", 128, 1.06}, Row{"overfeat", 128, 2.06},
                                           Row{"googlenet-plain", 128, 3.33}, Row{"vgg-16", 64, 6.65},
                                           Row{"vgg-16", 128, 12.20}, Row{"vgg-16", 256, 23.29},
                                           Row{"vgg-116", 32, 20.43}, Row{"vgg-216", 32, 36.98},
                                           Row{"vgg-316", 32, 53.53}, Row{"vgg-416", 32, 70.08}));

// Of the largest layer, the second convolution: its maps and gradient maps are four times 64x224x224.
TEST(NetworkWide, TheLargestLayerOfVgg16IsItsSecondConvolution) {
  constexpr std::int64_t kMap = std::int64_t{256} * 64 * 224 * 224 * 4;
  const NetworkWide wide = network_wide(training_graph("vgg-16", 256));
  const std::int64_t weights = (64 * 64 * 9 + 64) * 4;
  EXPECT_EQ(wide.largest_layer_bytes, 4 * kMap + 2 * weights);
}

TEST(NetworkWide, Vgg16HasItsPublishedWeights) {
  const NetworkWide wide = network_wide(training_graph("vgg-16", 1));
  EXPECT_EQ(wide.weight_bytes, std::int64_t{138'357'544} * 4);
  EXPECT_EQ(wide.weight_gradient_bytes, wide.weight_bytes);
}

// images 2x3x4x4, labels 2, conv 2x5x4x4 (relu in place), logits 2x3, one loss, softmax's probabilities.
TEST(NetworkWide, TheSmallestNetworkByHand) {
  GraphBuilder b("small", {2, 3, 4, 4});
  const TensorId x = b.relu("relu", b.convolution("conv", b.input(), {.channels = 5, .bias = false}));
  b.softmax_cross_entropy("loss", b.fully_connected("fc", x, {.features = 3, .bias = false}));
  const NetworkWide wide = network_wide(differentiate(std::move(b).build(), {}));
  EXPECT_EQ(wide.weight_bytes, (15 + 240) * 4);
  EXPECT_EQ(wide.weight_gradient_bytes, (15 + 240) * 4);
  // At most the gradients of the logits and of conv's output at once.
  EXPECT_EQ(wide.gradient_map_bytes, (6 + 160) * 4);
  EXPECT_EQ(wide.total_bytes(), wide.feature_map_bytes + wide.weight_bytes + wide.weight_gradient_bytes +
                                    wide.gradient_map_bytes);
}

// More images: maps grow in proportion, weights do not.
TEST(NetworkWide, OnlyMapsGrowWithTheBatch) {
  const NetworkWide one = network_wide(training_graph("alexnet", 1));
  const NetworkWide eight = network_wide(training_graph("alexnet", 8));
  EXPECT_EQ(eight.weight_bytes, one.weight_bytes);
  EXPECT_EQ(eight.gradient_map_bytes, 8 * one.gradient_map_bytes);
  // A loss is one number whatever the batch.
  EXPECT_EQ(eight.feature_map_bytes - 4, 8 * (one.feature_map_bytes - 4));
}

}  // namespace
}  // namespace vdnn
