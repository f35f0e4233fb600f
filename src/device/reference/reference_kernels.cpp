#include "device/reference/reference_kernels.h"

#include "device/reference/kernels.h"

namespace vdnn::reference {
namespace {

void run(const Call& call) {
  switch (call.op.kind) {
    case OpKind::convolution:
      return convolution(call);
    case OpKind::relu:
      return relu(call);
    case OpKind::max_pool:
      return max_pool(call);
    case OpKind::average_pool:
      return average_pool(call);
    case OpKind::lrn:
      return lrn(call);
    case OpKind::dropout:
      return dropout(call);
    case OpKind::fully_connected:
      return fully_connected(call);
    case OpKind::concat:
      return concat(call);
    case OpKind::add:
      return add(call);
    case OpKind::batch_norm:
      return batch_norm(call);
    case OpKind::softmax_cross_entropy:
      return softmax_cross_entropy(call);
    case OpKind::load_batch:
      return load_batch(call);
    case OpKind::convolution_backward_weights:
      return convolution_backward_weights(call);
    case OpKind::convolution_backward_data:
      return convolution_backward_data(call);
    case OpKind::relu_backward:
      return relu_backward(call);
    case OpKind::max_pool_backward:
      return max_pool_backward(call);
    case OpKind::average_pool_backward:
      return average_pool_backward(call);
    case OpKind::lrn_backward:
      return lrn_backward(call);
    case OpKind::dropout_backward:
      return dropout_backward(call);
    case OpKind::fully_connected_backward_weights:
      return fully_connected_backward_weights(call);
    case OpKind::fully_connected_backward_data:
      return fully_connected_backward_data(call);
    case OpKind::split:
      return split(call);
    case OpKind::batch_norm_statistics:
      return batch_norm_statistics(call);
    case OpKind::batch_norm_backward:
      return batch_norm_backward(call);
    case OpKind::softmax_cross_entropy_backward:
      return softmax_cross_entropy_backward(call);
    case OpKind::sgd_update:
      return sgd_update(call);
  }
}

}  // namespace

void run(const TrainingOp& op, std::span<const Tensor> inputs, std::span<const Tensor> outputs,
         const StepScalars& scalars) {
  run({op, inputs, outputs, scalars});
}

}  // namespace vdnn::reference
