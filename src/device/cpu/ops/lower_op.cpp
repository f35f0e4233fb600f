#include <fmt/format.h>

#include "device/cpu/ops/ops.h"
#include "vdnn/error.h"

namespace vdnn::cpu {

void lower_op(Lowering& lowering, const TrainingOp& op) {
  switch (op.kind) {
    case OpKind::load_batch:
      return lower_load_batch(lowering, op);
    case OpKind::convolution:
    case OpKind::convolution_backward_weights:
    case OpKind::convolution_backward_data:
      return lower_convolution(lowering, op);
    case OpKind::relu:
      return lower_relu(lowering, op);
    case OpKind::relu_backward:
      return lower_relu_backward(lowering, op);
    case OpKind::add:
      return lower_add(lowering, op);
    case OpKind::sgd_update:
      return lower_sgd_update(lowering, op);
    case OpKind::max_pool:
    case OpKind::average_pool:
    case OpKind::max_pool_backward:
    case OpKind::average_pool_backward:
      return lower_pooling(lowering, op);
    case OpKind::lrn:
    case OpKind::lrn_backward:
      return lower_lrn(lowering, op);
    case OpKind::dropout:
    case OpKind::dropout_backward:
      return lower_dropout(lowering, op);
    case OpKind::concat:
      return lower_concat(lowering, op);
    case OpKind::split:
      return lower_split(lowering, op);
    case OpKind::fully_connected:
      return lower_fully_connected(lowering, op);
    case OpKind::fully_connected_backward_data:
      return lower_fully_connected_backward_data(lowering, op);
    case OpKind::fully_connected_backward_weights:
      return lower_fully_connected_backward_weights(lowering, op);
    case OpKind::batch_norm:
      return lower_batch_norm(lowering, op);
    case OpKind::batch_norm_backward:
      return lower_batch_norm_backward(lowering, op);
    case OpKind::batch_norm_statistics:
      return lower_batch_norm_statistics(lowering, op);
    case OpKind::softmax_cross_entropy:
      return lower_softmax_cross_entropy(lowering, op);
    case OpKind::softmax_cross_entropy_backward:
      return lower_softmax_cross_entropy_backward(lowering, op);
  }
  throw UnsupportedError(fmt::format("device cpu: {} {}: no such op", op_name(op.kind), op.name));
}

}  // namespace vdnn::cpu
