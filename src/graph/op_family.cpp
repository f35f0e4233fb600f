#include "graph/op_family.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>

#include "graph/ops/families.h"
#include "vdnn/error.h"

namespace vdnn {
namespace {

const std::array<const OpFamily*, 11> kFamilies = {
    &kConvolution, &kRelu, &kMaxPool,   &kAveragePool,        &kLrn, &kDropout, &kFullyConnected,
    &kConcat,      &kAdd,  &kBatchNorm, &kSoftmaxCrossEntropy};

}  // namespace

std::span<const OpFamily* const> op_families() {
  return kFamilies;
}

const OpFamily& op_family(OpKind forward_kind) {
  for (const auto* family : kFamilies) {
    if (family->kind == forward_kind) return *family;
  }
  throw ModelError(fmt::format("{} is not an op that networks are written in", op_name(forward_kind)));
}

std::string_view role_name(Role role) {
  constexpr std::array<std::string_view, kRoleCount> kNames = {
      "weight", "weight_gradient", "optimizer_state", "feature_map", "gradient_map", "input", "workspace"};
  return kNames[static_cast<std::size_t>(role)];
}

std::string_view op_name(OpKind kind) {
  constexpr std::array<std::string_view, 26> kNames = {"convolution",
                                                       "relu",
                                                       "max_pool",
                                                       "average_pool",
                                                       "lrn",
                                                       "dropout",
                                                       "fully_connected",
                                                       "concat",
                                                       "add",
                                                       "batch_norm",
                                                       "softmax_cross_entropy",
                                                       "load_batch",
                                                       "convolution_backward_weights",
                                                       "convolution_backward_data",
                                                       "relu_backward",
                                                       "max_pool_backward",
                                                       "average_pool_backward",
                                                       "lrn_backward",
                                                       "dropout_backward",
                                                       "fully_connected_backward_weights",
                                                       "fully_connected_backward_data",
                                                       "split",
                                                       "batch_norm_statistics",
                                                       "batch_norm_backward",
                                                       "softmax_cross_entropy_backward",
                                                       "sgd_update"};
  return kNames[static_cast<std::size_t>(kind)];
}

void refuse_shapes(const ForwardOp& op, std::span<const Shape> inputs, const std::string& why) {
  std::vector<std::string> shapes;
  for (const auto& shape : inputs) shapes.push_back(shape.text());
  throw ModelError(
      fmt::format("{} {}: {} (input {})", op_name(op.kind), op.name, why, fmt::join(shapes, ", ")));
}

std::vector<Parameter> no_parameters(const ForwardOp&, std::span<const Shape>) {
  return {};
}

void forward_as_is(Backward& backward, TrainingOp op) {
  backward.append(std::move(op));
}

std::int64_t window_outputs(std::int64_t input, std::int64_t kernel, std::int64_t stride,
                            std::int64_t padding, std::int64_t dilation, bool ceil) {
  // Far too large a window, whose extent may overflow.
  if (kernel > 1 && dilation > (input + 2 * padding) / (kernel - 1)) return 0;
  const std::int64_t room = input + 2 * padding - ((kernel - 1) * dilation + 1);
  if (room < 0) return 0;
  std::int64_t outputs = (ceil ? (room + stride - 1) / stride : room / stride) + 1;
  if (ceil && (outputs - 1) * stride >= input + padding) --outputs;
  return outputs;
}

TensorId Backward::add_tensor(TrainingTensor tensor) {
  graph_.tensors.push_back(std::move(tensor));
  gradient_of.emplace_back();
  needs_gradient_flags.push_back(false);
  return TensorId(graph_.tensors.size() - 1);
}

TensorId Backward::add_gradient_like(TensorId forward) {
  const auto& of = graph_.tensor(forward);
  const Role role = of.role == Role::weight ? Role::weight_gradient : Role::gradient_map;
  return add_tensor({.name = "d_" + of.name, .shape = of.shape, .role = role});
}

void Backward::append(OpKind kind, const TrainingOp& of, std::vector<TensorId> inputs,
                      std::vector<TensorId> outputs) {
  append({.kind = kind,
          .name = of.name,
          .layer = of.layer,
          .phase = phase,
          .attributes = of.attributes,
          .inputs = std::move(inputs),
          .outputs = std::move(outputs),
          .random_stream = of.random_stream});
}

void Backward::append(TrainingOp op) {
  graph_.ops.push_back(std::move(op));
}

bool Backward::needs_gradient(TensorId forward) const {
  return needs_gradient_flags[forward.index()];
}

TensorId Backward::gradient(TensorId forward) const {
  return gradient_of[forward.index()];
}

void Backward::contribute(const TrainingOp& of, TensorId forward, TensorId gradient) {
  TensorId& sum = gradient_of[forward.index()];
  if (!sum.valid()) {
    sum = gradient;
    return;
  }
  const TensorId total = add_gradient_like(forward);
  TrainingOp add = of;
  add.name = graph_.tensor(forward).name + "_sum";
  add.attributes = NoAttributes{};
  const TensorId previous = gradient_of[forward.index()];
  append(OpKind::add, add, {previous, gradient}, {total});
  gradient_of[forward.index()] = total;
}

void Backward::contribute_parameter(TensorId parameter, TensorId gradient) {
  pending_updates.emplace_back(parameter, gradient);
}

}  // namespace vdnn
