#pragma once

#include <array>

#include "vdnn/graph.h"

namespace vdnn::cuda {

// The ops of toolkit/ops/lower_op.cpp's table, in its order: known also where vdnn is built without CUDA. It
// refuses some attributes of theirs when they are lowered.
inline constexpr std::array kSupportedOps = {
    OpKind::load_batch,
    OpKind::convolution,
    OpKind::convolution_backward_weights,
    OpKind::convolution_backward_data,
    OpKind::relu,
    OpKind::relu_backward,
    OpKind::max_pool,
    OpKind::max_pool_backward,
    OpKind::average_pool,
    OpKind::average_pool_backward,
    OpKind::lrn,
    OpKind::lrn_backward,
    OpKind::dropout,
    OpKind::dropout_backward,
    OpKind::fully_connected,
    OpKind::fully_connected_backward_data,
    OpKind::fully_connected_backward_weights,
    OpKind::concat,
    OpKind::split,
    OpKind::add,
    OpKind::batch_norm,
    OpKind::batch_norm_statistics,
    OpKind::batch_norm_backward,
    OpKind::softmax_cross_entropy,
    OpKind::softmax_cross_entropy_backward,
    OpKind::sgd_update,
};

}  // namespace vdnn::cuda
