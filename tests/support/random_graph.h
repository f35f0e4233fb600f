#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "support/random_draws.h"
#include "vdnn/graph.h"

namespace vdnn::testing {

// Builds a random network op by op: open ends are tensors that nobody reads yet, and all of them are
// joined in front of the loss.
class RandomGraph {
 public:
  explicit RandomGraph(std::uint64_t seed)
      : draws_(seed),
        builder_(fmt::format("random{}", seed),
                 {draws_.between(1, 4), draws_.one_of<std::int64_t>({1, 2, 3, 8}), draws_.between(5, 17),
                  draws_.between(5, 17)}),
        classes_(draws_.between(2, 9)),
        size_(draws_.between(kLeastOps, kMostOps)) {
    tensors_ = {builder_.input()};
    open_ = tensors_;
  }

  Graph build() && {
    while (ops_ + closing_ops() < size_) {
      if (ops_ + closing_ops() + kMostGrowth <= kMostOps) {
        grow();
      } else {
        chain_op(draws_.one_of(std::span<const TensorId>(open_)));
      }
    }
    close();
    return std::move(builder_).build();
  }

 private:
  static constexpr std::int64_t kLeastOps = 3;
  static constexpr std::int64_t kMostOps = 14;
  // grow() adds up to three ops and one open end, which takes up to three more ops to close.
  static constexpr std::int64_t kMostGrowth = 6;
  static constexpr std::int64_t kMostChannels = 20;

  [[nodiscard]] const Shape& shape(TensorId tensor) const { return builder_.shape(tensor); }

  // Ops that close() takes at most.
  [[nodiscard]] std::int64_t closing_ops() const {
    const auto ends = static_cast<std::int64_t>(open_.size());
    return ends == 1 ? 2 : 2 * ends + 1;
  }

  std::string name(const char* kind) { return fmt::format("{}{}", kind, ++ops_); }

  // Notes that `inputs` are read and `output` is not yet.
  TensorId link(std::vector<TensorId> inputs, TensorId output) {
    for (const auto input : inputs) std::erase(open_, input);
    tensors_.push_back(output);
    open_.push_back(output);
    return output;
  }

  // Mostly an open end, so that the network grows deep; else a fork.
  TensorId pick() {
    return draws_.chance(0.75) ? draws_.one_of(std::span<const TensorId>(open_))
                               : draws_.one_of(std::span<const TensorId>(tensors_));
  }

  void grow() {
    const TensorId x = pick();
    switch (draws_.below(8)) {
      case 0:
        return residual(x);
      case 1:
        return inception(x);
      case 2:
        return join_two(x);
      case 3:
        return side_loss(x);
      default:
        chain_op(x);
    }
  }

  // An op of one input.
  void chain_op(TensorId x) {
    switch (draws_.below(9)) {
      case 0:
        link({x}, builder_.relu(name("relu"), x));
        break;
      case 1:
        link({x}, builder_.max_pool(name("max_pool"), x, pooling(shape(x), true)));
        break;
      case 2:
        link({x}, builder_.average_pool(name("average_pool"), x, pooling(shape(x), false)));
        break;
      case 3:
        link({x}, builder_.lrn(
                      name("lrn"), x,
                      {.size = draws_.one_of<std::int64_t>({1, 3, 5}), .alpha = 0.1, .beta = 0.75, .k = 2}));
        break;
      case 4:
        link({x}, builder_.dropout(name("dropout"), x, {.probability = draws_.one_of({0.0, 0.25, 0.5})}));
        break;
      case 5:
        if (shape(x)[0] * shape(x)[2] * shape(x)[3] >= 2) {
          link({x}, builder_.batch_norm(name("batch_norm"), x, {.epsilon = 1e-3, .momentum = 0.2}));
          break;
        }
        [[fallthrough]];
      default:
        link({x}, builder_.convolution(name("convolution"), x, convolution(shape(x))));
    }
  }

  // Kernels of up to 3 (5 along a long axis) that fit, with padding below them.
  void window(std::int64_t input, std::int64_t& kernel, std::int64_t& stride, std::int64_t& padding) {
    kernel = draws_.between(1, std::min<std::int64_t>(input, input > 8 ? 5 : 3));
    stride = draws_.between(1, 2);
    padding = draws_.below(std::min<std::int64_t>(kernel, 3));
  }

  // Max pooling keeps the position within the window in a byte.
  PoolingAttributes pooling(const Shape& x, bool max) {
    PoolingAttributes a;
    window(x[2], a.kernel.height, a.stride.height, a.padding.height);
    window(x[3], a.kernel.width, a.stride.width, a.padding.width);
    a.ceil = draws_.chance(0.3);
    a.global = draws_.chance(0.1) && !(max && x[2] * x[3] > 256);
    return a;
  }

  ConvolutionAttributes convolution(const Shape& x) {
    ConvolutionAttributes a;
    window(x[2], a.kernel.height, a.stride.height, a.padding.height);
    window(x[3], a.kernel.width, a.stride.width, a.padding.width);
    const auto fits_dilated = [](std::int64_t input, std::int64_t kernel) { return 2 * kernel - 1 <= input; };
    if (draws_.chance(0.2) && fits_dilated(x[2], a.kernel.height)) a.dilation.height = 2;
    if (draws_.chance(0.2) && fits_dilated(x[3], a.kernel.width)) a.dilation.width = 2;
    std::vector<std::int64_t> divisors;
    for (std::int64_t groups = 1; groups <= std::min(x[1], kMostChannels); ++groups) {
      if (x[1] % groups == 0) divisors.push_back(groups);
    }
    a.groups = draws_.chance(0.3) ? draws_.one_of(std::span<const std::int64_t>(divisors)) : 1;
    a.channels = a.groups * draws_.between(1, kMostChannels / a.groups);
    a.bias = draws_.chance(0.7);
    return a;
  }

  ConvolutionAttributes same_size(std::int64_t channels, std::int64_t kernel) {
    return {.channels = channels,
            .kernel = {kernel, kernel},
            .padding = {kernel / 2, kernel / 2},
            .bias = draws_.chance(0.5)};
  }

  void residual(TensorId x) {
    const std::int64_t kernel = draws_.one_of<std::int64_t>({1, 3});
    TensorId y = link({x}, builder_.convolution(name("convolution"), x, same_size(shape(x)[1], kernel)));
    if (draws_.chance(0.5)) y = link({y}, builder_.relu(name("relu"), y));
    const bool shortcut_first = draws_.chance(0.5);
    const TensorId a = shortcut_first ? x : y;
    const TensorId b = shortcut_first ? y : x;
    link({x, y}, builder_.add(name("add"), a, b));
  }

  void inception(TensorId x) {
    const std::int64_t most = kMostChannels / 2;
    const TensorId a =
        link({x}, builder_.convolution(name("convolution"), x, same_size(draws_.between(1, most), 1)));
    TensorId b = x;
    if (shape(x)[1] > most || draws_.chance(0.5)) {
      b = link({x}, builder_.convolution(name("convolution"), x, same_size(draws_.between(1, most), 3)));
    }
    link({a, b}, builder_.concat(name("concat"), {a, b}));
  }

  // Any two tensors of fitting shapes, the same one twice included.
  void join_two(TensorId x) {
    const bool sum = draws_.chance(0.5);
    std::vector<TensorId> partners;
    for (const auto y : tensors_) {
      const bool images_fit = shape(y)[2] == shape(x)[2] && shape(y)[3] == shape(x)[3];
      if (sum ? shape(y) == shape(x) : images_fit && shape(y)[1] + shape(x)[1] <= kMostChannels) {
        partners.push_back(y);
      }
    }
    if (partners.empty()) {
      chain_op(x);
      return;
    }
    const TensorId y = draws_.one_of(std::span<const TensorId>(partners));
    link({x, y}, sum ? builder_.add(name("add"), x, y) : builder_.concat(name("concat"), {x, y}));
  }

  void side_loss(TensorId x) {
    if (std::exchange(has_side_loss_, true)) {
      chain_op(x);
      return;
    }
    const TensorId logits = builder_.fully_connected(name("fully_connected"), x, {.features = classes_});
    builder_.softmax_cross_entropy(name("loss"), logits, {.weight = 0.3});
    // x stays an open end: a network goes on behind a side loss.
  }

  // Joins the open ends behind global pools by channels, or as vectors by addition.
  void close() {
    TensorId x = open_[0];
    if (open_.size() > 1 && draws_.chance(0.5)) {
      for (TensorId& end : open_) {
        if (shape(end)[2] == 1 && shape(end)[3] == 1) continue;
        end = builder_.average_pool(name("average_pool"), end, {.global = true});
      }
      x = builder_.concat(name("concat"), open_);
    } else if (open_.size() > 1) {
      const std::int64_t features = draws_.between(1, kMostChannels);
      std::optional<TensorId> sum;
      for (const auto end : open_) {
        const TensorId y = builder_.fully_connected(name("fully_connected"), end,
                                                    {.features = features, .bias = draws_.chance(0.5)});
        sum = sum ? builder_.add(name("add"), *sum, y) : y;
      }
      x = *sum;
    }
    x = builder_.fully_connected(name("fully_connected"), x, {.features = classes_});
    builder_.softmax_cross_entropy(name("loss"), x);
  }

  RandomDraws draws_;
  GraphBuilder builder_;
  std::int64_t classes_;
  std::int64_t size_;
  std::int64_t ops_ = 0;
  std::vector<TensorId> tensors_;  // images, the input included
  std::vector<TensorId> open_;
  bool has_side_loss_ = false;
};

// A valid network of 3 to 14 ops, small enough to run thousands of: batch 1 to 4, up to 20 channels, 5 to
// 17 pixels a side; every kind of op, forks, joins by add and concat, now and then a side loss.
inline Graph random_graph(std::uint64_t seed) {
  return RandomGraph(seed).build();
}

}  // namespace vdnn::testing
