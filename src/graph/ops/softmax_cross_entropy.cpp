#include <cmath>

#include "graph/ops/families.h"

namespace vdnn {
namespace {

Shape infer(const ForwardOp& op, std::span<const Shape> inputs) {
  if (!std::isfinite(std::get<SoftmaxCrossEntropyAttributes>(op.attributes).weight)) {
    refuse_shapes(op, inputs, "weight must be finite");
  }
  if (inputs[0].rank() != 2) refuse_shapes(op, inputs, "wants batch x classes");
  return {1};
}

// Inputs: logits, labels. Outputs: loss, probabilities.
void forward(Backward& backward, TrainingOp op) {
  op.outputs.push_back(backward.add_tensor(
      {.name = op.name + ".probabilities", .shape = backward.tensor(op.inputs[0]).shape}));
  backward.append(std::move(op));
}

void gradient(Backward& backward, const TrainingOp& op) {
  if (!backward.needs_gradient(op.inputs[0])) return;
  const TensorId dx = backward.add_gradient_like(op.inputs[0]);
  backward.append(OpKind::softmax_cross_entropy_backward, op, {op.outputs[1], op.inputs[1]}, {dx});
  backward.contribute(op, op.inputs[0], dx);
}

}  // namespace

const OpFamily kSoftmaxCrossEntropy = {OpKind::softmax_cross_entropy,
                                       SoftmaxCrossEntropyAttributes{},
                                       1,
                                       1,
                                       infer,
                                       no_parameters,
                                       forward,
                                       gradient};

}  // namespace vdnn
