#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "vdnn/attributes.h"
#include "vdnn/id.h"
#include "vdnn/shape.h"

namespace vdnn {

using TensorId = Id<struct TensorTag>;
using LayerId = Id<struct LayerTag>;

// What memory is used for; every report splits bytes by role.
enum class Role { weight, weight_gradient, optimizer_state, feature_map, gradient_map, input, workspace };
inline constexpr std::size_t kRoleCount = 7;
inline constexpr std::array<Role, kRoleCount> kRoles = {
    Role::weight,       Role::weight_gradient, Role::optimizer_state, Role::feature_map,
    Role::gradient_map, Role::input,           Role::workspace};
std::string_view role_name(Role role);

// Forward ops are what a network is written in; the others appear when it is differentiated.
enum class OpKind {
  convolution,
  relu,
  max_pool,
  average_pool,
  lrn,
  dropout,
  fully_connected,
  concat,
  add,
  batch_norm,
  softmax_cross_entropy,
  // Only in training graphs.
  load_batch,
  convolution_backward_weights,
  convolution_backward_data,
  relu_backward,
  max_pool_backward,
  average_pool_backward,
  lrn_backward,
  dropout_backward,
  fully_connected_backward_weights,
  fully_connected_backward_data,
  split,
  batch_norm_statistics,
  batch_norm_backward,
  softmax_cross_entropy_backward,
  sgd_update,
};
inline constexpr OpKind kLastOpKind = OpKind::sgd_update;
std::string_view op_name(OpKind kind);

enum class Initializer { he_normal, glorot_uniform, zeros, ones };

// A weight of a layer. `statistics` are running averages: saved, but neither learned nor decayed.
struct Parameter {
  std::string name;
  Shape shape;
  Initializer initializer = Initializer::zeros;
  std::int64_t fan_in = 1;
  std::int64_t fan_out = 1;
  double gain = 1;  // on the initializer's scale
  bool statistics = false;
};

struct ForwardOp {
  OpKind kind{};
  std::string name;
  Attributes attributes;
  std::vector<TensorId> inputs;
  TensorId output;
  std::vector<Parameter> parameters;
};

struct ForwardTensor {
  std::string name;
  Shape shape;
};

// A network: ops in execution order, each with one output. Immutable; made by GraphBuilder.
class Graph {
 public:
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::vector<ForwardOp>& ops() const { return ops_; }
  [[nodiscard]] const std::vector<ForwardTensor>& tensors() const { return tensors_; }
  [[nodiscard]] const ForwardTensor& tensor(TensorId id) const { return tensors_[id.index()]; }
  [[nodiscard]] TensorId input() const { return TensorId(0); }
  [[nodiscard]] std::int64_t batch() const { return tensors_[0].shape[0]; }
  // Classes that the losses distinguish.
  [[nodiscard]] std::int64_t classes() const { return classes_; }
  [[nodiscard]] std::int64_t parameter_count() const;

 private:
  friend class GraphBuilder;
  std::string name_;
  std::vector<ForwardOp> ops_;
  std::vector<ForwardTensor> tensors_;
  std::int64_t classes_ = 0;
};

// Adds ops in execution order. Every call infers the shape of the op's output and throws ModelError,
// with the op's name and the shapes, when the inputs do not fit. Not thread-safe.
class GraphBuilder {
 public:
  // `input` is batch x channels x height x width, all at least 1.
  GraphBuilder(std::string name, const Shape& input);

  [[nodiscard]] TensorId input() const { return TensorId(0); }
  [[nodiscard]] const Shape& shape(TensorId tensor) const;

  TensorId convolution(std::string name, TensorId x, const ConvolutionAttributes& attributes);
  TensorId relu(std::string name, TensorId x);
  TensorId max_pool(std::string name, TensorId x, const PoolingAttributes& attributes);
  TensorId average_pool(std::string name, TensorId x, const PoolingAttributes& attributes);
  TensorId lrn(std::string name, TensorId x, const LrnAttributes& attributes);
  TensorId dropout(std::string name, TensorId x, const DropoutAttributes& attributes);
  TensorId fully_connected(std::string name, TensorId x, const FullyConnectedAttributes& attributes);
  TensorId concat(std::string name, std::vector<TensorId> inputs);
  TensorId add(std::string name, TensorId a, TensorId b);
  TensorId batch_norm(std::string name, TensorId x, const BatchNormAttributes& attributes = {});
  // A loss; a network has at least one, and trains on the sum of all.
  TensorId softmax_cross_entropy(std::string name, TensorId logits,
                                 const SoftmaxCrossEntropyAttributes& attributes = {});

  // What the calls above do, for any forward op.
  TensorId append(OpKind kind, std::string name, std::vector<TensorId> inputs, Attributes attributes);

  // Ends building. Throws ModelError when there is no loss or an op's output reaches none.
  Graph build() &&;

 private:
  Graph graph_;
};

// The readable text form: a line per op, "name = kind(inputs) key=value ...". docs/network_format.md.
std::string to_text(const Graph& graph);

// Reads the text form. `batch` and `image` replace what the file says where given.
// Throws ModelError with `source` and the line number.
Graph parse_graph(std::string_view text, std::string_view source, std::optional<std::int64_t> batch = {},
                  std::optional<std::int64_t> image = {});

}  // namespace vdnn
