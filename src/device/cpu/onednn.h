#pragma once

#include <cstdint>
#include <functional>
#include <oneapi/dnnl/dnnl.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "vdnn/attributes.h"
#include "vdnn/shape.h"

// All that depends on oneDNN's version is behind these functions, in onednn.cpp.
namespace vdnn::cpu {

using Desc = dnnl::memory::desc;

// Channels per block of the layout that this machine's convolutions prefer.
std::int64_t preferred_block();

// Row-major, any rank up to 5.
Desc plain_desc(const Shape& shape);
// batch x channels/block x height x width x block.
Desc blocked_desc(const Shape& shape, std::int64_t block);
Desc any_desc(const Shape& shape);

// A format with blocked axes: {axis, size} of the blocks, outermost first, and the distance from one block
// (one position where the axis is not blocked) to the next, in values, by axis.
struct Blocking {
  std::vector<std::int64_t> dims;
  std::vector<std::int64_t> strides;
  std::vector<std::pair<std::size_t, std::int64_t>> blocks;
};
Blocking blocking(const Desc& desc);

// A primitive that can be made: making it generates code, so it waits until it is first needed.
struct Primitive {
  std::function<dnnl::primitive()> make;
  std::int64_t scratchpad_bytes = 0;
  bool naive = false;  // one of oneDNN's plain loops, a thousand times slower than the others
};

enum class Direction { forward, backward_data, backward_weights };

struct ConvolutionProblem {
  Shape x;
  Shape y;
  ConvolutionAttributes attributes;
};

struct ConvolutionFormats {
  Desc x;
  Desc weight;
  Desc y;
};

struct ConvolutionPrimitive {
  Primitive primitive;
  ConvolutionFormats formats;
};

// The weight's shape as oneDNN counts it: with a leading axis of groups where there are several.
Shape convolution_weight_shape(const ConvolutionProblem& problem);

// None where oneDNN has no such implementation.
std::optional<ConvolutionPrimitive> make_convolution(Direction direction, bool winograd,
                                                     const ConvolutionProblem& problem,
                                                     const ConvolutionFormats& formats);

struct PoolingPrimitive {
  Primitive primitive;
  std::int64_t workspace_bytes = 0;  // what max pooling hands from forward to backward
};
PoolingPrimitive make_pooling(bool max, bool forward, const Desc& x, const Desc& y, const Shape& x_shape,
                              const Shape& y_shape, const PoolingAttributes& attributes);

Primitive make_batch_norm(bool forward, const Desc& x, double epsilon);

Primitive make_reorder(const Desc& from, const Desc& to);

// An engine and a stream on which primitives run in the caller's thread.
class Runtime {
 public:
  Runtime();

  struct Argument {
    int name = 0;
    const Desc* desc = nullptr;
    std::byte* data = nullptr;
  };
  void run(const dnnl::primitive& primitive, std::span<const Argument> arguments);

 private:
  dnnl::stream stream_;
};

std::string onednn_version();

}  // namespace vdnn::cpu
