#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "support/random_draws.h"
#include "support/random_graph.h"
#include "vdnn/error.h"
#include "vdnn/graph.h"

namespace vdnn::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// Every op, and every attribute other than by default.
constexpr const char* kEverything = R"(network everything
input batch=2 channels=4 height=16 width=12
conv = convolution(input) channels=6 kernel=3x2 stride=2x1 padding=1x2 dilation=1x2 groups=2 bias=false
relu = relu(conv)
max = max_pool(relu) kernel=2 stride=2x1 padding=1 ceil=true
lrn = lrn(max) size=3 alpha=0.1 beta=0.5 k=2
norm = batch_norm(lrn) epsilon=0.001 momentum=0.25
drop = dropout(norm) probability=0.3
sum = add(drop, lrn)
joined = concat(sum, drop, max)
average = average_pool(joined) kernel=3 stride=2 padding=0x1
top = average_pool(joined) global=true
side = fully_connected(average) features=5 bias=false
side_loss = softmax_cross_entropy(side) weight=0.3
fc = fully_connected(top) features=5
loss = softmax_cross_entropy(fc)
)";

std::string refusal(const std::string& text) {
  try {
    static_cast<void>(parse_graph(text, "net.txt"));
    return "";
  } catch (const ModelError& error) {
    return error.what();
  }
}

void expect_equal(const Graph& a, const Graph& b) {
  EXPECT_EQ(a.name(), b.name());
  EXPECT_EQ(a.classes(), b.classes());
  ASSERT_EQ(a.tensors().size(), b.tensors().size());
  for (std::size_t i = 0; i < a.tensors().size(); ++i) {
    EXPECT_EQ(a.tensors()[i].name, b.tensors()[i].name);
    EXPECT_EQ(a.tensors()[i].shape, b.tensors()[i].shape);
  }
  ASSERT_EQ(a.ops().size(), b.ops().size());
  for (std::size_t i = 0; i < a.ops().size(); ++i) {
    EXPECT_EQ(a.ops()[i].kind, b.ops()[i].kind);
    EXPECT_EQ(a.ops()[i].inputs, b.ops()[i].inputs);
    EXPECT_TRUE(a.ops()[i].attributes == b.ops()[i].attributes) << a.ops()[i].name;
  }
}

TEST(NetworkText, OfEveryOpAndAttributeIsReadAndWrittenBack) {
  const Graph graph = parse_graph(kEverything, "net.txt");
  EXPECT_EQ(to_text(graph), kEverything);
  const auto& convolution = std::get<ConvolutionAttributes>(graph.ops()[0].attributes);
  EXPECT_EQ(convolution, (ConvolutionAttributes{.channels = 6,
                                                .kernel = {3, 2},
                                                .stride = {2, 1},
                                                .padding = {1, 2},
                                                .dilation = {1, 2},
                                                .groups = 2,
                                                .bias = false}));
  EXPECT_EQ(std::get<PoolingAttributes>(graph.ops()[2].attributes),
            (PoolingAttributes{.kernel = {2, 2}, .stride = {2, 1}, .padding = {1, 1}, .ceil = true}));
  EXPECT_EQ(std::get<LrnAttributes>(graph.ops()[3].attributes),
            (LrnAttributes{.size = 3, .alpha = 0.1, .beta = 0.5, .k = 2}));
  EXPECT_EQ(std::get<DropoutAttributes>(graph.ops()[5].attributes).probability, 0.3);
}

TEST(NetworkText, OfARandomNetworkGivesTheSameNetwork) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const Graph graph = random_graph(seed);
    expect_equal(parse_graph(to_text(graph), "net.txt"), graph);
  }
}

TEST(NetworkText, KeepsEveryDigitOfANumber) {
  GraphBuilder builder("digits", {1, 1, 1, 1});
  const TensorId x = builder.dropout("drop", builder.input(), {.probability = 1.0 / 3});
  builder.softmax_cross_entropy("loss", builder.fully_connected("fc", x, {.features = 2}), {.weight = 1e-17});
  const Graph graph = std::move(builder).build();
  expect_equal(parse_graph(to_text(graph), "net.txt"), graph);
}

TEST(NetworkText, LetsAnOpBeCalledNetwork) {
  const std::string text =
      "network net\ninput batch=2 channels=3 height=8 width=8\nnetwork = relu(input)\n"
      "fc = fully_connected(network) features=2\nloss = softmax_cross_entropy(fc)\n";
  EXPECT_EQ(to_text(parse_graph(text, "net.txt")), text);
}

TEST(NetworkText, SkipsCommentsBlankLinesAndSpaces) {
  const Graph graph = parse_graph(
      "# a comment\n\n  network  tiny # named\ninput batch=3 channels=1 height=2 width=2\r\n"
      "  fc=fully_connected( input )features=2\n\tloss = softmax_cross_entropy(fc)  # end",
      "net.txt");
  EXPECT_EQ(graph.name(), "tiny");
  EXPECT_EQ(graph.tensor(graph.ops()[0].output).shape, Shape({3, 2}));
}

TEST(NetworkText, HasDefaultsForTheInput) {
  const Graph graph =
      parse_graph("input\nfc = fully_connected(input) features=2\nl = softmax_cross_entropy(fc)", "n");
  EXPECT_EQ(graph.tensor(graph.input()).shape, Shape({32, 3, 224, 224}));
}

TEST(NetworkText, TakesBatchAndImageFromTheCaller) {
  const auto input_of = [](std::optional<std::int64_t> batch, std::optional<std::int64_t> image) {
    const Graph graph = parse_graph(kEverything, "net.txt", batch, image);
    return graph.tensor(graph.input()).shape;
  };
  EXPECT_EQ(input_of({}, {}), Shape({2, 4, 16, 12}));
  EXPECT_EQ(input_of(7, {}), Shape({7, 4, 16, 12}));
  EXPECT_EQ(input_of({}, 20), Shape({2, 4, 20, 20}));
  EXPECT_EQ(input_of(7, 20), Shape({7, 4, 20, 20}));
  EXPECT_THROW(input_of(0, {}), ModelError);
  EXPECT_THROW(input_of({}, -3), ModelError);
}

constexpr const char* kHead = "network net\ninput batch=2 channels=3 height=8 width=8\n";

TEST(NetworkTextErrors, CarryFileLineAndTheNearestOp) {
  EXPECT_THAT(
      refusal(std::string(kHead) + "c = convolutoin(input) channels=2\n"),
      AllOf(StartsWith("net.txt:3: "), HasSubstr("'convolutoin'"), HasSubstr("did you mean 'convolution'")));
}

TEST(NetworkTextErrors, CarryTheNearestTensor) {
  EXPECT_THAT(
      refusal(std::string(kHead) + "relu1 = relu(input)\n\nrelu2 = relu(relu)\n"),
      AllOf(StartsWith("net.txt:5: "), HasSubstr("relu2"), HasSubstr("'relu'"), HasSubstr("'relu1'")));
}

TEST(NetworkTextErrors, NameTheAttribute) {
  EXPECT_THAT(refusal(std::string(kHead) + "c = convolution(input) channels=2 kernal=3\n"),
              AllOf(StartsWith("net.txt:3: "), HasSubstr("convolution has no attribute 'kernal'")));
  EXPECT_THAT(refusal(std::string(kHead) + "c = convolution(input) channels=2.5\n"),
              AllOf(StartsWith("net.txt:3: "), HasSubstr("channels=2.5")));
  EXPECT_THAT(refusal(std::string(kHead) + "c = convolution(input) channels=2 kernel=3x\n"),
              HasSubstr("kernel=3x"));
  EXPECT_THAT(refusal(std::string(kHead) + "c = convolution(input) channels=2 bias=maybe\n"),
              HasSubstr("bias=maybe"));
  EXPECT_THAT(refusal(std::string(kHead) + "c = convolution(input) channels=2 channels=3\n"),
              HasSubstr("'channels' twice"));
  EXPECT_THAT(refusal(std::string(kHead) + "c = convolution(input) channels\n"), HasSubstr("not key=value"));
}

TEST(NetworkTextErrors, CarryTheLineOfShapesThatDoNotFit) {
  EXPECT_THAT(refusal(std::string(kHead) + "c = convolution(input) channels=2 kernel=9\n"),
              AllOf(StartsWith("net.txt:3: convolution c: "), HasSubstr("9x9"), HasSubstr("2x3x8x8")));
  EXPECT_THAT(refusal(std::string(kHead) + "a = relu(input)\na = relu(a)\n"),
              AllOf(StartsWith("net.txt:4: "), HasSubstr("the name is taken")));
}

TEST(NetworkTextErrors, OfLinesThatAreNoOps) {
  for (const auto* line : {"relu", "a = relu", "a = relu(input", "a = relu)input(", "a b = relu(input)",
                           "a = relu relu(input)", "= relu(input)", "a = relu()", "a = relu(input,,input)"}) {
    EXPECT_THAT(refusal(std::string(kHead) + line), StartsWith("net.txt:3: ")) << line;
  }
}

TEST(NetworkTextErrors, OfTheHead) {
  EXPECT_THAT(refusal(""), HasSubstr("no 'input' line"));
  EXPECT_THAT(refusal("network\n"), AllOf(StartsWith("net.txt:1: "), HasSubstr("network NAME")));
  EXPECT_THAT(refusal("a = relu(input)\n"),
              AllOf(StartsWith("net.txt:1: "), HasSubstr("before the 'input' line")));
  EXPECT_THAT(refusal(std::string(kHead) + "input\n"),
              AllOf(StartsWith("net.txt:3: "), HasSubstr("second 'input'")));
  EXPECT_THAT(refusal("input depth=3\n"), AllOf(StartsWith("net.txt:1: "), HasSubstr("no 'depth'")));
  EXPECT_THAT(refusal("input batch=many\n"), AllOf(StartsWith("net.txt:1: "), HasSubstr("batch=many")));
}

// Replaces, removes, doubles and inserts bytes of the text above.
std::string mutated(std::uint64_t seed) {
  RandomDraws draws(seed);
  std::string text = kEverything;
  const std::string pieces = "=(),#x.- \n0123456789abcinfe\t\r\xff";
  for (std::int64_t count = draws.between(1, 6); count > 0; --count) {
    const auto at = static_cast<std::size_t>(draws.below(static_cast<std::int64_t>(text.size())));
    const char random_byte = static_cast<char>(draws.below(256));
    const char byte = draws.chance(0.8) ? draws.one_of(std::span<const char>(pieces)) : random_byte;
    switch (draws.below(4)) {
      case 0:
        text[at] = byte;
        break;
      case 1:
        text.erase(at, static_cast<std::size_t>(draws.between(1, 20)));
        break;
      case 2:
        text.insert(at, text.substr(at, static_cast<std::size_t>(draws.between(1, 40))));
        break;
      default:
        text.insert(at, 1, byte);
    }
  }
  return text;
}

TEST(NetworkTextErrors, AreTheOnlyResultOfDamageToAText) {
  int read = 0;
  int refused = 0;
  for (std::uint64_t seed = 0; seed < 20000; ++seed) {
    const std::string text = mutated(seed);
    try {
      const Graph graph = parse_graph(text, "net.txt");
      EXPECT_EQ(to_text(parse_graph(to_text(graph), "net.txt")), to_text(graph)) << text;
      ++read;
    } catch (const Error&) {
      ++refused;
    } catch (const std::exception& error) {
      FAIL() << "seed " << seed << " throws " << error.what() << " for\n" << text;
    }
  }
  EXPECT_GT(read, 100);
  EXPECT_GT(refused, 10000);
}

}  // namespace
}  // namespace vdnn::testing
