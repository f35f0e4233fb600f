#pragma once

#include <span>
#include <string>
#include <vector>

#include "vdnn/graph.h"
#include "vdnn/training_graph.h"

namespace vdnn {

class Backward;

// What the graph layer needs to know of a kind of op: one instance per family, in its file in ops/.
struct OpFamily {
  OpKind kind;
  Attributes default_attributes;
  std::size_t least_inputs;
  std::size_t most_inputs;

  // Shape of the output; throws ModelError (through refuse_shapes) when the inputs do not fit.
  Shape (*infer)(const ForwardOp& op, std::span<const Shape> inputs);

  // Weights of the op, in the order in which its kernels take them.
  std::vector<Parameter> (*parameters)(const ForwardOp& op, std::span<const Shape> inputs);

  // The forward op of the training graph. `op` comes with its inputs, parameters and output in
  // place; a family adds saved state and further ops.
  void (*forward)(Backward& backward, TrainingOp op);

  // Appends the gradient ops of `op`, a forward op of the training graph.
  void (*gradient)(Backward& backward, const TrainingOp& op);
};

const OpFamily& op_family(OpKind forward_kind);
std::span<const OpFamily* const> op_families();

// "conv1: kernel 7x7 is larger than the padded input 32x3x4x4".
[[noreturn]] void refuse_shapes(const ForwardOp& op, std::span<const Shape> inputs, const std::string& why);

std::vector<Parameter> no_parameters(const ForwardOp& op, std::span<const Shape> inputs);
void forward_as_is(Backward& backward, TrainingOp op);

// Size of a sliding window's output along one axis, 0 or less when the window does not fit.
std::int64_t window_outputs(std::int64_t input, std::int64_t kernel, std::int64_t stride,
                            std::int64_t padding, std::int64_t dilation, bool ceil);

// The training graph under construction, as gradient rules see it.
class Backward {
 public:
  explicit Backward(TrainingGraph& graph) : graph_(graph) {}

  [[nodiscard]] const TrainingTensor& tensor(TensorId id) const { return graph_.tensor(id); }

  // A new tensor; gradients take the name of what they belong to.
  TensorId add_tensor(TrainingTensor tensor);
  TensorId add_gradient_like(TensorId forward);

  // Appends an op in the current layer and phase.
  void append(OpKind kind, const TrainingOp& of, std::vector<TensorId> inputs, std::vector<TensorId> outputs);
  void append(TrainingOp op);

  // True when the loss depends on the tensor through something that learns.
  [[nodiscard]] bool needs_gradient(TensorId forward) const;

  // The complete gradient of a forward tensor, once every reader has contributed.
  [[nodiscard]] TensorId gradient(TensorId forward) const;

  // Adds to the gradient of a forward tensor: the first contribution is taken as it is, later ones
  // are summed by explicit ops in the order in which they come.
  void contribute(const TrainingOp& of, TensorId forward, TensorId gradient);

  // Hands over the complete gradient of a weight; it is updated after the last op of the layer.
  void contribute_parameter(TensorId parameter, TensorId gradient);

  // Set by differentiate().
  std::vector<TensorId> gradient_of;       // by tensor
  std::vector<bool> needs_gradient_flags;  // by tensor
  std::vector<std::pair<TensorId, TensorId>> pending_updates;
  Phase phase = Phase::forward;

 private:
  TrainingGraph& graph_;
};

}  // namespace vdnn
