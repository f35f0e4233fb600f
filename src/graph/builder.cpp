#include <fmt/format.h>

#include <algorithm>

#include "graph/op_family.h"
#include "vdnn/error.h"
#include "vdnn/graph.h"

namespace vdnn {

namespace {

bool is_name(const std::string& text) {
  return !text.empty() && text.find_first_of(" \t\n\r,()=#") == std::string::npos;
}

// Logits start at a hundredth of the usual scale, so that training starts from near-equal chances: large
// random logits make a first gradient that switches deep networks off.
void start_small(std::vector<ForwardOp>& ops, TensorId logits) {
  for (auto& op : ops) {
    if (op.output != logits || op.kind != OpKind::fully_connected) continue;
    op.parameters[0].gain = 0.01;
  }
}

}  // namespace

GraphBuilder::GraphBuilder(std::string name, const Shape& input) {
  if (!is_name(name))
    throw ModelError(
        fmt::format("'{}' is not a network's name: no spaces, commas, brackets, '=' or '#'", name));
  if (input.rank() != 4 || *std::min_element(input.dims().begin(), input.dims().end()) < 1) {
    throw ModelError(
        fmt::format("network {}: the input must be batch x channels x height x width, all at least 1, not {}",
                    name, input.text()));
  }
  static_cast<void>(checked_bytes(input));
  graph_.name_ = std::move(name);
  graph_.tensors_.push_back({"input", input});
}

const Shape& GraphBuilder::shape(TensorId tensor) const {
  return graph_.tensor(tensor).shape;
}

TensorId GraphBuilder::append(OpKind kind, std::string name, std::vector<TensorId> inputs,
                              Attributes attributes) {
  const OpFamily& family = op_family(kind);
  ForwardOp op{.kind = kind, .name = std::move(name), .attributes = attributes, .inputs = std::move(inputs)};
  std::vector<Shape> shapes;
  for (const auto input : op.inputs) {
    if (input.index() >= graph_.tensors_.size()) {
      throw ModelError(
          fmt::format("{} {}: an input that this network does not have", op_name(kind), op.name));
    }
    shapes.push_back(shape(input));
  }
  if (shapes.size() < family.least_inputs || shapes.size() > family.most_inputs) {
    throw ModelError(fmt::format("{} {}: takes {} to {} inputs, not {}", op_name(kind), op.name,
                                 family.least_inputs, family.most_inputs, shapes.size()));
  }
  if (!is_name(op.name)) {
    throw ModelError(fmt::format("{}: '{}' is not a name: no spaces, commas, brackets, '=' or '#'",
                                 op_name(kind), op.name));
  }
  for (const auto& tensor : graph_.tensors_) {
    if (tensor.name == op.name)
      throw ModelError(fmt::format("{} {}: the name is taken", op_name(kind), op.name));
  }
  if (op.attributes.index() != family.default_attributes.index()) {
    throw ModelError(fmt::format("{} {}: attributes of another op", op_name(kind), op.name));
  }
  const Shape output = family.infer(op, shapes);
  static_cast<void>(checked_bytes(output));
  op.parameters = family.parameters(op, shapes);
  for (const auto& parameter : op.parameters) static_cast<void>(checked_bytes(parameter.shape));
  if (kind == OpKind::softmax_cross_entropy) {
    const auto classes = shapes[0][1];
    if (graph_.classes_ != 0 && graph_.classes_ != classes) {
      refuse_shapes(op, shapes, fmt::format("another loss distinguishes {} classes", graph_.classes_));
    }
    graph_.classes_ = classes;
    start_small(graph_.ops_, op.inputs[0]);
  }
  op.output = TensorId(graph_.tensors_.size());
  graph_.tensors_.push_back({op.name, output});
  graph_.ops_.push_back(std::move(op));
  return graph_.ops_.back().output;
}

TensorId GraphBuilder::convolution(std::string name, TensorId x, const ConvolutionAttributes& attributes) {
  return append(OpKind::convolution, std::move(name), {x}, attributes);
}
TensorId GraphBuilder::relu(std::string name, TensorId x) {
  return append(OpKind::relu, std::move(name), {x}, NoAttributes{});
}
TensorId GraphBuilder::max_pool(std::string name, TensorId x, const PoolingAttributes& attributes) {
  return append(OpKind::max_pool, std::move(name), {x}, attributes);
}
TensorId GraphBuilder::average_pool(std::string name, TensorId x, const PoolingAttributes& attributes) {
  return append(OpKind::average_pool, std::move(name), {x}, attributes);
}
TensorId GraphBuilder::lrn(std::string name, TensorId x, const LrnAttributes& attributes) {
  return append(OpKind::lrn, std::move(name), {x}, attributes);
}
TensorId GraphBuilder::dropout(std::string name, TensorId x, const DropoutAttributes& attributes) {
  return append(OpKind::dropout, std::move(name), {x}, attributes);
}
TensorId GraphBuilder::fully_connected(std::string name, TensorId x,
                                       const FullyConnectedAttributes& attributes) {
  return append(OpKind::fully_connected, std::move(name), {x}, attributes);
}
TensorId GraphBuilder::concat(std::string name, std::vector<TensorId> inputs) {
  return append(OpKind::concat, std::move(name), std::move(inputs), NoAttributes{});
}
TensorId GraphBuilder::add(std::string name, TensorId a, TensorId b) {
  return append(OpKind::add, std::move(name), {a, b}, NoAttributes{});
}
TensorId GraphBuilder::batch_norm(std::string name, TensorId x, const BatchNormAttributes& attributes) {
  return append(OpKind::batch_norm, std::move(name), {x}, attributes);
}
TensorId GraphBuilder::softmax_cross_entropy(std::string name, TensorId logits,
                                             const SoftmaxCrossEntropyAttributes& attributes) {
  return append(OpKind::softmax_cross_entropy, std::move(name), {logits}, attributes);
}

Graph GraphBuilder::build() && {
  std::vector<bool> used(graph_.tensors_.size(), false);
  for (auto op = graph_.ops_.rbegin(); op != graph_.ops_.rend(); ++op) {
    const bool loss = op->kind == OpKind::softmax_cross_entropy;
    if (!loss && !used[op->output.index()]) {
      throw ModelError(fmt::format("{} {}: its output reaches no loss", op_name(op->kind), op->name));
    }
    for (const auto input : op->inputs) used[input.index()] = true;
  }
  if (graph_.classes_ == 0) {
    throw ModelError(fmt::format("network {}: has no softmax_cross_entropy to train on", graph_.name_));
  }
  return std::move(graph_);
}

std::int64_t Graph::parameter_count() const {
  std::int64_t count = 0;
  for (const auto& op : ops_) {
    for (const auto& parameter : op.parameters) {
      if (!parameter.statistics) count += parameter.shape.elements();
    }
  }
  return count;
}

}  // namespace vdnn
