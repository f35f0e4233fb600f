#pragma once

#include "device/cpu/lowering.h"

namespace vdnn::cpu {

void lower_load_batch(Lowering& lowering, const TrainingOp& op);
void lower_convolution(Lowering& lowering, const TrainingOp& op);  // and its two gradients
void lower_relu(Lowering& lowering, const TrainingOp& op);
void lower_relu_backward(Lowering& lowering, const TrainingOp& op);
void lower_add(Lowering& lowering, const TrainingOp& op);
void lower_sgd_update(Lowering& lowering, const TrainingOp& op);
void lower_pooling(Lowering& lowering, const TrainingOp& op);  // max and average, both ways
void lower_lrn(Lowering& lowering, const TrainingOp& op);      // both ways
void lower_dropout(Lowering& lowering, const TrainingOp& op);  // both ways
void lower_concat(Lowering& lowering, const TrainingOp& op);
void lower_split(Lowering& lowering, const TrainingOp& op);
void lower_fully_connected(Lowering& lowering, const TrainingOp& op);
void lower_fully_connected_backward_data(Lowering& lowering, const TrainingOp& op);
void lower_fully_connected_backward_weights(Lowering& lowering, const TrainingOp& op);
void lower_batch_norm(Lowering& lowering, const TrainingOp& op);
void lower_batch_norm_backward(Lowering& lowering, const TrainingOp& op);
void lower_batch_norm_statistics(Lowering& lowering, const TrainingOp& op);
void lower_softmax_cross_entropy(Lowering& lowering, const TrainingOp& op);
void lower_softmax_cross_entropy_backward(Lowering& lowering, const TrainingOp& op);

// The gradient of some rows (rows_per_slice), as a kernel of its own before their update. Biases come with
// the first.
void emit_weight_gradient_slice(Lowering& lowering, const TrainingOp& gradient, std::int64_t first_row,
                                std::int64_t rows);

}  // namespace vdnn::cpu
