#include <fmt/format.h>

#include "graph/ops/families.h"

namespace vdnn {
namespace {

Shape infer(const ForwardOp& op, std::span<const Shape> inputs) {
  const auto& a = std::get<ConvolutionAttributes>(op.attributes);
  const Shape& x = inputs[0];
  if (x.rank() != 4) refuse_shapes(op, inputs, "wants batch x channels x height x width");
  if (a.channels < 1) refuse_shapes(op, inputs, "channels must be at least 1");
  if (a.kernel.height < 1 || a.kernel.width < 1 || a.stride.height < 1 || a.stride.width < 1 ||
      a.dilation.height < 1 || a.dilation.width < 1 || a.padding.height < 0 || a.padding.width < 0) {
    refuse_shapes(op, inputs, "kernel, stride and dilation must be at least 1, padding at least 0");
  }
  if (a.groups < 1 || x[1] % a.groups != 0 || a.channels % a.groups != 0) {
    refuse_shapes(
        op, inputs,
        fmt::format("{} groups do not divide {} input and {} output channels", a.groups, x[1], a.channels));
  }
  const auto height =
      window_outputs(x[2], a.kernel.height, a.stride.height, a.padding.height, a.dilation.height, false);
  const auto width =
      window_outputs(x[3], a.kernel.width, a.stride.width, a.padding.width, a.dilation.width, false);
  if (height < 1 || width < 1) {
    refuse_shapes(op, inputs,
                  fmt::format("the image is too small for a {}x{} kernel with padding {}x{}", a.kernel.height,
                              a.kernel.width, a.padding.height, a.padding.width));
  }
  return {x[0], a.channels, height, width};
}

std::vector<Parameter> parameters(const ForwardOp& op, std::span<const Shape> inputs) {
  const auto& a = std::get<ConvolutionAttributes>(op.attributes);
  const std::int64_t inputs_per_group = inputs[0][1] / a.groups;
  // Before the fans, which are products of the same extents.
  static_cast<void>(checked_bytes({a.channels, inputs_per_group, a.kernel.height, a.kernel.width}));
  const std::int64_t window = a.kernel.height * a.kernel.width;
  std::vector<Parameter> result = {{.name = op.name + ".weight",
                                    .shape = {a.channels, inputs_per_group, a.kernel.height, a.kernel.width},
                                    .initializer = Initializer::he_normal,
                                    .fan_in = inputs_per_group * window,
                                    .fan_out = a.channels / a.groups * window}};
  if (a.bias) result.push_back({.name = op.name + ".bias", .shape = {a.channels}});
  return result;
}

// Weights before data, so that the input of the layer can be dropped before its gradient is made.
void gradient(Backward& backward, const TrainingOp& op) {
  const TensorId x = op.inputs[0];
  const TensorId weight = op.inputs[1];
  const TensorId dy = backward.gradient(op.outputs[0]);
  std::vector<TensorId> gradients;
  for (std::size_t i = 1; i < op.inputs.size(); ++i)
    gradients.push_back(backward.add_gradient_like(op.inputs[i]));
  backward.append(OpKind::convolution_backward_weights, op, {x, dy}, gradients);
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    backward.contribute_parameter(op.inputs[i + 1], gradients[i]);
  }
  if (backward.needs_gradient(x)) {
    const TensorId dx = backward.add_gradient_like(x);
    backward.append(OpKind::convolution_backward_data, op, {weight, dy}, {dx});
    backward.contribute(op, x, dx);
  }
}

}  // namespace

const OpFamily kConvolution = {OpKind::convolution, ConvolutionAttributes{}, 1,       1, infer,
                               parameters,          forward_as_is,           gradient};

}  // namespace vdnn
