#pragma once

#include <vector>

#include "vdnn/graph.h"

// Networks whose feature maps are at least 64 KiB in doubles, so that policies move them.
namespace vdnn::testing {

inline TensorId convolution_relu(GraphBuilder& b, const std::string& name, TensorId x,
                                 std::int64_t channels) {
  return b.relu(name + "_relu",
                b.convolution(name, x, {.channels = channels, .kernel = {3, 3}, .padding = {1, 1}}));
}

inline Graph classify(GraphBuilder b, TensorId x) {
  x = b.average_pool("last_pool", x, {.global = true});
  b.softmax_cross_entropy("loss", b.fully_connected("classifier", x, {.features = 5}));
  return std::move(b).build();
}

// Maps of 2 x 2 x 48 x 48 doubles: 72 KiB in few channels, which keeps convolutions cheap.
inline Graph chain() {
  GraphBuilder b("chain", {2, 2, 48, 48});
  auto x = convolution_relu(b, "one", b.input(), 2);
  x = convolution_relu(b, "two", x, 2);
  x = b.max_pool("pool", x, {.kernel = {3, 3}, .padding = {1, 1}});
  x = b.lrn("lrn", x, {.size = 3, .alpha = 0.1, .beta = 0.75, .k = 1});
  x = b.dropout("dropout", convolution_relu(b, "three", x, 2), {.probability = 0.4});
  x = convolution_relu(b, "four", x, 2);
  return classify(std::move(b), x);
}

inline Graph residual() {
  GraphBuilder b("residual", {2, 3, 48, 48});
  auto x = convolution_relu(b, "stem", b.input(), 2);
  for (const char* name : {"first", "second"}) {
    auto y = b.convolution(std::string(name) + "_convolution", x,
                           {.channels = 2, .kernel = {3, 3}, .padding = {1, 1}, .bias = false});
    y = b.batch_norm(std::string(name) + "_norm", y);
    x = b.relu(std::string(name) + "_relu", b.add(std::string(name) + "_add", x, y));
  }
  return classify(std::move(b), x);
}

inline Graph branches() {
  GraphBuilder b("branches", {2, 3, 48, 48});
  auto x = convolution_relu(b, "stem", b.input(), 2);
  for (const std::string name : {"first", "second"}) {
    const auto left = b.convolution(name + "_1x1", x, {.channels = 1});
    const auto middle = b.convolution(name + "_3x3", convolution_relu(b, name + "_reduce", x, 2),
                                      {.channels = 1, .kernel = {3, 3}, .padding = {1, 1}});
    const auto right = b.average_pool(name + "_pool", x, {.kernel = {3, 3}, .padding = {1, 1}});
    x = b.relu(name + "_relu", b.concat(name, {left, middle, right}));
    if (name == "first") {
      b.softmax_cross_entropy("side_loss", b.fully_connected("side", x, {.features = 5}), {.weight = 0.3});
    }
  }
  return classify(std::move(b), x);
}

// Its first classifier's weights and momentum are 324 KiB each, more than its maps.
inline Graph weighty() {
  GraphBuilder b("weighty", {2, 2, 48, 48});
  auto x = convolution_relu(b, "one", b.input(), 2);
  x = convolution_relu(b, "two", x, 2);
  x = b.relu("wide_relu", b.fully_connected("wide", x, {.features = 9}));
  b.softmax_cross_entropy("loss", b.fully_connected("classifier", x, {.features = 5}));
  return std::move(b).build();
}

inline std::vector<Graph> moving_networks() {
  return {chain(), residual(), branches(), weighty()};
}

}  // namespace vdnn::testing
