#include "model/networks.h"

namespace vdnn {

// Krizhevsky, "One weird trick for parallelizing convolutional neural networks" (2014): the single tower.
Graph alexnet(const NetworkOptions& options) {
  GraphBuilder b(options.name, options.input);
  const PoolingAttributes pool{.kernel = {3, 3}, .stride = {2, 2}};
  auto x = convolution_relu(b, "conv1", b.input(),
                            {.channels = 64, .kernel = {11, 11}, .stride = {4, 4}, .padding = {2, 2}});
  x = b.max_pool("pool1", x, pool);
  x = convolution_relu(b, "conv2", x, {.channels = 192, .kernel = {5, 5}, .padding = {2, 2}});
  x = b.max_pool("pool2", x, pool);
  x = convolution_relu(b, "conv3", x, {.channels = 384, .kernel = {3, 3}, .padding = {1, 1}});
  x = convolution_relu(b, "conv4", x, {.channels = 256, .kernel = {3, 3}, .padding = {1, 1}});
  x = convolution_relu(b, "conv5", x, {.channels = 256, .kernel = {3, 3}, .padding = {1, 1}});
  x = b.max_pool("pool5", x, pool);
  x = b.dropout("drop5", x, {});
  x = b.relu("fc6_relu", b.fully_connected("fc6", x, {.features = 4096}));
  x = b.dropout("drop6", x, {});
  x = b.relu("fc7_relu", b.fully_connected("fc7", x, {.features = 4096}));
  b.softmax_cross_entropy("loss", b.fully_connected("fc8", x, {.features = options.classes}));
  return std::move(b).build();
}

}  // namespace vdnn
