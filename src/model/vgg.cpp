#include <fmt/format.h>

#include "model/networks.h"

namespace vdnn {

// Simonyan and Zisserman, "Very deep convolutional networks" (ICLR 2015), configuration D, deepened as
// in vDNN (MICRO 2016, section 5.4): the same number of convolutions more in each group.
Graph vgg(const NetworkOptions& options, int extra) {
  struct Group {
    std::int64_t channels;
    int convolutions;
  };
  GraphBuilder b(options.name, options.input);
  TensorId x = b.input();
  int number = 0;
  for (const auto& group : {Group{64, 2}, Group{128, 2}, Group{256, 3}, Group{512, 3}, Group{512, 3}}) {
    ++number;
    for (int i = 1; i <= group.convolutions + extra; ++i) {
      x = convolution_relu(b, fmt::format("conv{}_{}", number, i), x,
                           {.channels = group.channels, .kernel = {3, 3}, .padding = {1, 1}});
    }
    x = b.max_pool(fmt::format("pool{}", number), x, {.kernel = {2, 2}, .stride = {2, 2}});
  }
  x = b.relu("fc6_relu", b.fully_connected("fc6", x, {.features = 4096}));
  x = b.dropout("drop6", x, {});
  x = b.relu("fc7_relu", b.fully_connected("fc7", x, {.features = 4096}));
  x = b.dropout("drop7", x, {});
  b.softmax_cross_entropy("loss", b.fully_connected("fc8", x, {.features = options.classes}));
  return std::move(b).build();
}

}  // namespace vdnn
