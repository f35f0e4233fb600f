#pragma once

#include <cstdint>
#include <variant>

namespace vdnn {

// Height and width of a window, stride or padding.
struct Extent2d {
  std::int64_t height = 1;
  std::int64_t width = 1;
  friend bool operator==(Extent2d, Extent2d) = default;
};

// Each attribute struct lists its fields once, in `fields`, which calls visit("name", field) in a fixed
// order; the text form is made from it.

struct ConvolutionAttributes {
  std::int64_t channels = 0;  // of the output
  Extent2d kernel;
  Extent2d stride;
  Extent2d padding{0, 0};  // zeros on each side
  Extent2d dilation;       // 1: dense
  std::int64_t groups = 1;
  bool bias = true;

  template <class Self, class Visit>
  static void fields(Self& a, Visit&& visit) {
    visit("channels", a.channels);
    visit("kernel", a.kernel);
    visit("stride", a.stride);
    visit("padding", a.padding);
    visit("dilation", a.dilation);
    visit("groups", a.groups);
    visit("bias", a.bias);
  }
  friend bool operator==(const ConvolutionAttributes&, const ConvolutionAttributes&) = default;
};

struct PoolingAttributes {
  Extent2d kernel;
  Extent2d stride;
  Extent2d padding{0, 0};
  bool ceil = false;    // round the output size up; windows never start behind the padded input
  bool global = false;  // the window is the whole image; kernel, stride and padding are ignored

  template <class Self, class Visit>
  static void fields(Self& a, Visit&& visit) {
    visit("kernel", a.kernel);
    visit("stride", a.stride);
    visit("padding", a.padding);
    visit("ceil", a.ceil);
    visit("global", a.global);
  }
  friend bool operator==(const PoolingAttributes&, const PoolingAttributes&) = default;
};

// Across channels: y = x / (k + alpha / size * sum of x^2 over `size` channels)^beta
// (Krizhevsky, Sutskever, Hinton, NIPS 2012, section 3.3).
struct LrnAttributes {
  std::int64_t size = 5;
  double alpha = 1e-4;
  double beta = 0.75;
  double k = 1.0;

  template <class Self, class Visit>
  static void fields(Self& a, Visit&& visit) {
    visit("size", a.size);
    visit("alpha", a.alpha);
    visit("beta", a.beta);
    visit("k", a.k);
  }
  friend bool operator==(const LrnAttributes&, const LrnAttributes&) = default;
};

// Zeroes a value with this probability, scales the others by 1 / (1 - probability).
struct DropoutAttributes {
  double probability = 0.5;

  template <class Self, class Visit>
  static void fields(Self& a, Visit&& visit) {
    visit("probability", a.probability);
  }
  friend bool operator==(const DropoutAttributes&, const DropoutAttributes&) = default;
};

struct FullyConnectedAttributes {
  std::int64_t features = 0;  // of the output
  bool bias = true;

  template <class Self, class Visit>
  static void fields(Self& a, Visit&& visit) {
    visit("features", a.features);
    visit("bias", a.bias);
  }
  friend bool operator==(const FullyConnectedAttributes&, const FullyConnectedAttributes&) = default;
};

// Over batch, height and width (Ioffe and Szegedy, ICML 2015); `momentum` is the share of the new
// batch in the running statistics.
struct BatchNormAttributes {
  double epsilon = 1e-5;
  double momentum = 0.1;

  template <class Self, class Visit>
  static void fields(Self& a, Visit&& visit) {
    visit("epsilon", a.epsilon);
    visit("momentum", a.momentum);
  }
  friend bool operator==(const BatchNormAttributes&, const BatchNormAttributes&) = default;
};

// Mean over the batch of weight * -log softmax(x)[label].
struct SoftmaxCrossEntropyAttributes {
  double weight = 1.0;

  template <class Self, class Visit>
  static void fields(Self& a, Visit&& visit) {
    visit("weight", a.weight);
  }
  friend bool operator==(const SoftmaxCrossEntropyAttributes&,
                         const SoftmaxCrossEntropyAttributes&) = default;
};

// m = momentum * m + (g + weight_decay * w); w = w - learning_rate * m.
struct SgdAttributes {
  double momentum = 0.9;
  double weight_decay = 0.0;

  template <class Self, class Visit>
  static void fields(Self& a, Visit&& visit) {
    visit("momentum", a.momentum);
    visit("weight_decay", a.weight_decay);
  }
  friend bool operator==(const SgdAttributes&, const SgdAttributes&) = default;
};

struct NoAttributes {
  template <class Self, class Visit>
  static void fields(Self&, Visit&&) {}
  friend bool operator==(NoAttributes, NoAttributes) = default;
};

using Attributes =
    std::variant<NoAttributes, ConvolutionAttributes, PoolingAttributes, LrnAttributes, DropoutAttributes,
                 FullyConnectedAttributes, BatchNormAttributes, SoftmaxCrossEntropyAttributes, SgdAttributes>;

}  // namespace vdnn
