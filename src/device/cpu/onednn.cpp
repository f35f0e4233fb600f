#include "device/cpu/onednn.h"

#include <fmt/format.h>

#include <functional>
#include <unordered_map>

#include "vdnn/error.h"

namespace vdnn::cpu {
namespace {

using dnnl::algorithm;
using dnnl::memory;
using dnnl::prop_kind;

constexpr auto kFloat = memory::data_type::f32;

dnnl::engine& engine() {
  static dnnl::engine instance(dnnl::engine::kind::cpu, 0);
  return instance;
}

dnnl::primitive_attr user_scratchpad() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

memory::dims dims(const Shape& shape) {
  return {shape.dims().begin(), shape.dims().end()};
}

template <class Make, class Description>
Primitive wrap(const Description& description) {
  const std::string implementation = description.impl_info_str();
  return {.make = [description] { return Make(description); },
          .scratchpad_bytes = static_cast<std::int64_t>(description.scratchpad_desc().get_size()),
          .naive = implementation.rfind("ref", 0) == 0};
}

// Zeros behind the image, so that the last window ends where y ends.
std::int64_t padding_behind(std::int64_t x, std::int64_t y, std::int64_t kernel, std::int64_t stride,
                            std::int64_t padding, std::int64_t dilation) {
  return (y - 1) * stride + (kernel - 1) * dilation + 1 - x - padding;
}

struct Geometry {
  memory::dims stride;
  memory::dims dilation;  // oneDNN counts the gaps: 0 is dense
  memory::dims before;
  memory::dims behind;
};

Geometry geometry(const Shape& x, const Shape& y, Extent2d kernel, Extent2d stride, Extent2d padding,
                  Extent2d dilation) {
  return {{stride.height, stride.width},
          {dilation.height - 1, dilation.width - 1},
          {padding.height, padding.width},
          {padding_behind(x[2], y[2], kernel.height, stride.height, padding.height, dilation.height),
           padding_behind(x[3], y[3], kernel.width, stride.width, padding.width, dilation.width)}};
}

}  // namespace

std::int64_t preferred_block() {
  const auto isa = dnnl::get_effective_cpu_isa();
  return isa == dnnl::cpu_isa::sse41 || isa == dnnl::cpu_isa::avx || isa == dnnl::cpu_isa::avx2 ||
                 isa == dnnl::cpu_isa::avx2_vnni
             ? 8
             : 16;
}

Desc plain_desc(const Shape& shape) {
  memory::dims strides(shape.rank(), 1);
  for (std::size_t axis = shape.rank(); axis > 1; --axis)
    strides[axis - 2] = strides[axis - 1] * shape[axis - 1];
  return {dims(shape), kFloat, strides};
}

Desc blocked_desc(const Shape& shape, std::int64_t block) {
  return {dims(shape), kFloat, block == 16 ? memory::format_tag::nChw16c : memory::format_tag::nChw8c};
}

Desc any_desc(const Shape& shape) {
  return {dims(shape), kFloat, memory::format_tag::any};
}

#if DNNL_VERSION_MAJOR < 3

Blocking blocking(const Desc& desc) {
  const auto& data = desc.data.format_desc.blocking;
  Blocking result{.dims = desc.dims()};
  result.strides.assign(data.strides, data.strides + desc.data.ndims);
  for (int i = 0; i < data.inner_nblks; ++i)
    result.blocks.emplace_back(static_cast<std::size_t>(data.inner_idxs[i]), data.inner_blks[i]);
  return result;
}

std::optional<ConvolutionPrimitive> make_convolution(Direction direction, bool winograd,
                                                     const ConvolutionProblem& problem,
                                                     const ConvolutionFormats& formats) {
  const auto& a = problem.attributes;
  const Geometry g = geometry(problem.x, problem.y, a.kernel, a.stride, a.padding, a.dilation);
  const auto chosen = winograd ? algorithm::convolution_winograd : algorithm::convolution_direct;
  const Desc bias = a.bias ? plain_desc({a.channels}) : Desc();
  const auto attributes = user_scratchpad();
  const auto forward = [&](algorithm with) {
    return dnnl::convolution_forward::primitive_desc(
        {prop_kind::forward_training, with, formats.x, formats.weight, bias, formats.y, g.stride, g.dilation,
         g.before, g.behind},
        attributes, engine());
  };
  try {
    if (direction == Direction::forward) {
      const auto description = forward(chosen);
      return ConvolutionPrimitive{
          wrap<dnnl::convolution_forward>(description),
          {description.src_desc(), description.weights_desc(), description.dst_desc()}};
    }
    const auto hint = forward(algorithm::convolution_direct);
    if (direction == Direction::backward_data) {
      const dnnl::convolution_backward_data::primitive_desc description(
          {chosen, formats.x, formats.weight, formats.y, g.stride, g.dilation, g.before, g.behind},
          attributes, engine(), hint);
      return ConvolutionPrimitive{
          wrap<dnnl::convolution_backward_data>(description),
          {description.diff_src_desc(), description.weights_desc(), description.diff_dst_desc()}};
    }
    const dnnl::convolution_backward_weights::primitive_desc description(
        {chosen, formats.x, formats.weight, bias, formats.y, g.stride, g.dilation, g.before, g.behind},
        attributes, engine(), hint);
    return ConvolutionPrimitive{
        wrap<dnnl::convolution_backward_weights>(description),
        {description.src_desc(), description.diff_weights_desc(), description.diff_dst_desc()}};
  } catch (const dnnl::error& error) {
    if (error.status == dnnl_unimplemented) return {};
    throw;
  }
}

PoolingPrimitive make_pooling(bool max, bool forward, const Desc& x, const Desc& y, const Shape& x_shape,
                              const Shape& y_shape, const PoolingAttributes& attributes) {
  const Extent2d kernel = attributes.global ? Extent2d{x_shape[2], x_shape[3]} : attributes.kernel;
  const Extent2d stride = attributes.global ? Extent2d{1, 1} : attributes.stride;
  const Extent2d padding = attributes.global ? Extent2d{0, 0} : attributes.padding;
  const Geometry g = geometry(x_shape, y_shape, kernel, stride, padding, {1, 1});
  const memory::dims window = {kernel.height, kernel.width};
  const auto with = max ? algorithm::pooling_max : algorithm::pooling_avg_exclude_padding;
  const dnnl::pooling_forward::primitive_desc forward_description(
      {prop_kind::forward_training, with, x, y, g.stride, window, g.before, g.behind}, user_scratchpad(),
      engine());
  const auto saved = static_cast<std::int64_t>(forward_description.workspace_desc().get_size());
  if (forward) return {wrap<dnnl::pooling_forward>(forward_description), saved};
  const dnnl::pooling_backward::primitive_desc description({with, x, y, g.stride, window, g.before, g.behind},
                                                           user_scratchpad(), engine(), forward_description);
  return {wrap<dnnl::pooling_backward>(description), saved};
}

Primitive make_batch_norm(bool forward, const Desc& x, double epsilon) {
  const auto flags = dnnl::normalization_flags::use_scale | dnnl::normalization_flags::use_shift;
  const auto small = static_cast<float>(epsilon);
  const dnnl::batch_normalization_forward::primitive_desc forward_description(
      {prop_kind::forward_training, x, small, flags}, user_scratchpad(), engine());
  if (forward) return wrap<dnnl::batch_normalization_forward>(forward_description);
  const dnnl::batch_normalization_backward::primitive_desc description(
      {prop_kind::backward, x, x, small, flags}, user_scratchpad(), engine(), forward_description);
  return wrap<dnnl::batch_normalization_backward>(description);
}

#else

Blocking blocking(const Desc& desc) {
  Blocking result{.dims = desc.get_dims(), .strides = desc.get_strides()};
  const auto sizes = desc.get_inner_blks();
  const auto axes = desc.get_inner_idxs();
  for (std::size_t i = 0; i < sizes.size(); ++i)
    result.blocks.emplace_back(static_cast<std::size_t>(axes[i]), sizes[i]);
  return result;
}

std::optional<ConvolutionPrimitive> make_convolution(Direction direction, bool winograd,
                                                     const ConvolutionProblem& problem,
                                                     const ConvolutionFormats& formats) {
  const auto& a = problem.attributes;
  const Geometry g = geometry(problem.x, problem.y, a.kernel, a.stride, a.padding, a.dilation);
  const auto chosen = winograd ? algorithm::convolution_winograd : algorithm::convolution_direct;
  const Desc bias = a.bias ? plain_desc({a.channels}) : Desc();
  const auto attributes = user_scratchpad();
  const dnnl::convolution_forward::primitive_desc hint(
      engine(), prop_kind::forward_training,
      direction == Direction::forward ? chosen : algorithm::convolution_direct, formats.x, formats.weight,
      bias, formats.y, g.stride, g.dilation, g.before, g.behind, attributes, true);
  if (!hint) return {};
  if (direction == Direction::forward) {
    return ConvolutionPrimitive{wrap<dnnl::convolution_forward>(hint),
                                {hint.src_desc(), hint.weights_desc(), hint.dst_desc()}};
  }
  if (direction == Direction::backward_data) {
    const dnnl::convolution_backward_data::primitive_desc description(
        engine(), chosen, formats.x, formats.weight, formats.y, g.stride, g.dilation, g.before, g.behind,
        hint, attributes, true);
    if (!description) return {};
    return ConvolutionPrimitive{
        wrap<dnnl::convolution_backward_data>(description),
        {description.diff_src_desc(), description.weights_desc(), description.diff_dst_desc()}};
  }
  const dnnl::convolution_backward_weights::primitive_desc description(
      engine(), chosen, formats.x, formats.weight, bias, formats.y, g.stride, g.dilation, g.before, g.behind,
      hint, attributes, true);
  if (!description) return {};
  return ConvolutionPrimitive{
      wrap<dnnl::convolution_backward_weights>(description),
      {description.src_desc(), description.diff_weights_desc(), description.diff_dst_desc()}};
}

PoolingPrimitive make_pooling(bool max, bool forward, const Desc& x, const Desc& y, const Shape& x_shape,
                              const Shape& y_shape, const PoolingAttributes& attributes) {
  const Extent2d kernel = attributes.global ? Extent2d{x_shape[2], x_shape[3]} : attributes.kernel;
  const Extent2d stride = attributes.global ? Extent2d{1, 1} : attributes.stride;
  const Extent2d padding = attributes.global ? Extent2d{0, 0} : attributes.padding;
  const Geometry g = geometry(x_shape, y_shape, kernel, stride, padding, {1, 1});
  const memory::dims window = {kernel.height, kernel.width};
  const auto with = max ? algorithm::pooling_max : algorithm::pooling_avg_exclude_padding;
  const dnnl::pooling_forward::primitive_desc forward_description(engine(), prop_kind::forward_training, with,
                                                                  x, y, g.stride, window, g.dilation,
                                                                  g.before, g.behind, user_scratchpad());
  const auto saved = static_cast<std::int64_t>(forward_description.workspace_desc().get_size());
  if (forward) return {wrap<dnnl::pooling_forward>(forward_description), saved};
  const dnnl::pooling_backward::primitive_desc description(engine(), with, x, y, g.stride, window, g.dilation,
                                                           g.before, g.behind, forward_description,
                                                           user_scratchpad());
  return {wrap<dnnl::pooling_backward>(description), saved};
}

Primitive make_batch_norm(bool forward, const Desc& x, double epsilon) {
  const auto flags = dnnl::normalization_flags::use_scale | dnnl::normalization_flags::use_shift;
  const auto small = static_cast<float>(epsilon);
  const dnnl::batch_normalization_forward::primitive_desc forward_description(
      engine(), prop_kind::forward_training, x, x, small, flags, user_scratchpad());
  if (forward) return wrap<dnnl::batch_normalization_forward>(forward_description);
  const dnnl::batch_normalization_backward::primitive_desc description(
      engine(), prop_kind::backward, x, x, x, small, flags, forward_description, user_scratchpad());
  return wrap<dnnl::batch_normalization_backward>(description);
}

#endif

Shape convolution_weight_shape(const ConvolutionProblem& problem) {
  const auto& a = problem.attributes;
  const std::int64_t inputs = problem.x[1] / a.groups;
  if (a.groups == 1) return {a.channels, inputs, a.kernel.height, a.kernel.width};
  return {a.groups, a.channels / a.groups, inputs, a.kernel.height, a.kernel.width};
}

Primitive make_reorder(const Desc& from, const Desc& to) {
  const dnnl::reorder::primitive_desc description(engine(), from, engine(), to, user_scratchpad());
  return {.make = [description] { return dnnl::reorder(description); },
          .scratchpad_bytes = static_cast<std::int64_t>(description.scratchpad_desc().get_size())};
}

Runtime::Runtime() : stream_(engine()) {}

void Runtime::run(const dnnl::primitive& primitive, std::span<const Argument> arguments) {
  std::unordered_map<int, memory> map;
  for (const auto& argument : arguments)
    map.emplace(argument.name, memory(*argument.desc, engine(), argument.data));
  primitive.execute(stream_, map);
  stream_.wait();
}

std::string onednn_version() {
  const auto* version = dnnl_version();
  return fmt::format("oneDNN {}.{}.{}", version->major, version->minor, version->patch);
}

}  // namespace vdnn::cpu
