#include "model/networks.h"

namespace vdnn {
namespace {

struct Inception {
  const char* name;
  std::int64_t conv1x1;
  std::int64_t reduce3x3;
  std::int64_t conv3x3;
  std::int64_t reduce5x5;
  std::int64_t conv5x5;
  std::int64_t pool_projection;
};

// Szegedy et al., "Going deeper with convolutions" (CVPR 2015), table 1.
class Builder {
 public:
  Builder(const NetworkOptions& options, bool plain)
      : b_(options.name, options.input), classes_(options.classes), plain_(plain) {}

  Graph run() {
    auto x = convolution_relu(b_, "conv1", b_.input(),
                              {.channels = 64, .kernel = {7, 7}, .stride = {2, 2}, .padding = {3, 3}});
    x = normalise("norm1", b_.max_pool("pool1", x, kPool));
    x = convolution_relu(b_, "conv2_reduce", x, {.channels = 64});
    x = convolution_relu(b_, "conv2", x, {.channels = 192, .kernel = {3, 3}, .padding = {1, 1}});
    x = b_.max_pool("pool2", normalise("norm2", x), kPool);
    x = inception({"3a", 64, 96, 128, 16, 32, 32}, x);
    x = inception({"3b", 128, 128, 192, 32, 96, 64}, x);
    x = b_.max_pool("pool3", x, kPool);
    x = inception({"4a", 192, 96, 208, 16, 48, 64}, x);
    side_head("aux1", x);
    x = inception({"4b", 160, 112, 224, 24, 64, 64}, x);
    x = inception({"4c", 128, 128, 256, 24, 64, 64}, x);
    x = inception({"4d", 112, 144, 288, 32, 64, 64}, x);
    side_head("aux2", x);
    x = inception({"4e", 256, 160, 320, 32, 128, 128}, x);
    x = b_.max_pool("pool4", x, kPool);
    x = inception({"5a", 256, 160, 320, 32, 128, 128}, x);
    x = inception({"5b", 384, 192, 384, 48, 128, 128}, x);
    x = b_.average_pool("pool5", x, {.global = true});
    x = b_.dropout("drop5", x, {.probability = 0.4});
    b_.softmax_cross_entropy("loss", b_.fully_connected("fc", x, {.features = classes_}));
    return std::move(b_).build();
  }

 private:
  static constexpr PoolingAttributes kPool{.kernel = {3, 3}, .stride = {2, 2}, .ceil = true};

  TensorId normalise(const char* name, TensorId x) {
    return plain_ ? x : b_.lrn(name, x, {.size = 5, .alpha = 1e-4, .beta = 0.75, .k = 1});
  }

  // The activation of the four branches runs behind the concat, which is the same function and lets
  // the branches die there.
  TensorId inception(const Inception& a, TensorId x) {
    const std::string name = a.name;
    const auto one = b_.convolution(name + "_1x1", x, {.channels = a.conv1x1});
    auto three = convolution_relu(b_, name + "_3x3_reduce", x, {.channels = a.reduce3x3});
    three =
        b_.convolution(name + "_3x3", three, {.channels = a.conv3x3, .kernel = {3, 3}, .padding = {1, 1}});
    auto five = convolution_relu(b_, name + "_5x5_reduce", x, {.channels = a.reduce5x5});
    five = b_.convolution(name + "_5x5", five, {.channels = a.conv5x5, .kernel = {5, 5}, .padding = {2, 2}});
    auto pool = b_.max_pool(name + "_pool", x, {.kernel = {3, 3}, .padding = {1, 1}});
    pool = b_.convolution(name + "_projection", pool, {.channels = a.pool_projection});
    return b_.relu(name + "_relu", b_.concat(name, {one, three, five, pool}));
  }

  void side_head(const std::string& name, TensorId x) {
    if (plain_) return;
    x = b_.average_pool(name + "_pool", x, {.kernel = {5, 5}, .stride = {3, 3}});
    x = convolution_relu(b_, name + "_conv", x, {.channels = 128});
    x = b_.relu(name + "_fc1_relu", b_.fully_connected(name + "_fc1", x, {.features = 1024}));
    x = b_.dropout(name + "_drop", x, {.probability = 0.7});
    x = b_.fully_connected(name + "_fc2", x, {.features = classes_});
    b_.softmax_cross_entropy(name + "_loss", x, {.weight = 0.3});
  }

  GraphBuilder b_;
  std::int64_t classes_;
  bool plain_;
};

}  // namespace

Graph googlenet(const NetworkOptions& options) {
  return Builder(options, false).run();
}
Graph googlenet_plain(const NetworkOptions& options) {
  return Builder(options, true).run();
}

}  // namespace vdnn
