#include <fmt/format.h>

#include "model/networks.h"

namespace vdnn {
namespace {

TensorId convolution_norm(GraphBuilder& b, const std::string& name, TensorId x,
                          ConvolutionAttributes attributes) {
  attributes.bias = false;
  return b.batch_norm(name + "_bn", b.convolution(name, x, attributes));
}

// The bottleneck with its stride in the 3x3 convolution.
TensorId bottleneck(GraphBuilder& b, const std::string& name, TensorId x, std::int64_t width,
                    std::int64_t stride) {
  const std::int64_t channels = 4 * width;
  TensorId shortcut = x;
  if (b.shape(x)[1] != channels || stride != 1) {
    shortcut = convolution_norm(b, name + "_shortcut", x, {.channels = channels, .stride = {stride, stride}});
  }
  auto y = b.relu(name + "_relu1", convolution_norm(b, name + "_conv1", x, {.channels = width}));
  y = convolution_norm(b, name + "_conv2", y,
                       {.channels = width, .kernel = {3, 3}, .stride = {stride, stride}, .padding = {1, 1}});
  y = convolution_norm(b, name + "_conv3", b.relu(name + "_relu2", y), {.channels = channels});
  return b.relu(name + "_relu3", b.add(name + "_add", y, shortcut));
}

}  // namespace

// He et al., "Deep residual learning for image recognition" (CVPR 2016), table 1.
Graph resnet50(const NetworkOptions& options) {
  GraphBuilder b(options.name, options.input);
  auto x = convolution_norm(b, "conv1", b.input(),
                            {.channels = 64, .kernel = {7, 7}, .stride = {2, 2}, .padding = {3, 3}});
  x = b.max_pool("pool1", b.relu("conv1_relu", x), {.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}});
  const int blocks[] = {3, 4, 6, 3};
  for (int stage = 0; stage < 4; ++stage) {
    for (int block = 0; block < blocks[stage]; ++block) {
      x = bottleneck(b, fmt::format("res{}{}", stage + 2, static_cast<char>('a' + block)), x, 64LL << stage,
                     stage > 0 && block == 0 ? 2 : 1);
    }
  }
  x = b.average_pool("pool5", x, {.global = true});
  b.softmax_cross_entropy("loss", b.fully_connected("fc", x, {.features = options.classes}));
  return std::move(b).build();
}

}  // namespace vdnn
