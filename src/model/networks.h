#pragma once

#include <cstdint>
#include <string>

#include "vdnn/graph.h"

namespace vdnn {

// One network per file. `input` is batch x 3 x image x image.
struct NetworkOptions {
  std::string name;
  Shape input;
  std::int64_t classes = 1000;
};

Graph alexnet(const NetworkOptions& options);
Graph overfeat(const NetworkOptions& options);
Graph googlenet(const NetworkOptions& options);
Graph googlenet_plain(const NetworkOptions& options);
// VGG-(16 + 5 * extra): `extra` more convolutions in each of the five groups.
Graph vgg(const NetworkOptions& options, int extra);
Graph resnet50(const NetworkOptions& options);

// A convolution and its activation, "name" and "name_relu".
TensorId convolution_relu(GraphBuilder& builder, const std::string& name, TensorId x,
                          const ConvolutionAttributes& attributes);

}  // namespace vdnn
