#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "device/cuda/coverage.h"
#include "device/cuda/toolkit/ops/ops.h"
#include "vdnn/error.h"

namespace vdnn::cuda {
namespace {

struct Entry {
  OpKind kind;
  void (*lower)(Lowering& lowering, const TrainingOp& op);
};

constexpr std::array kTable = {
    Entry{OpKind::load_batch, lower_load_batch},
    Entry{OpKind::convolution, lower_convolution},
    Entry{OpKind::convolution_backward_weights, lower_convolution},
    Entry{OpKind::convolution_backward_data, lower_convolution},
    Entry{OpKind::relu, lower_relu},
    Entry{OpKind::relu_backward, lower_relu_backward},
    Entry{OpKind::max_pool, lower_pooling},
    Entry{OpKind::max_pool_backward, lower_pooling},
    Entry{OpKind::average_pool, lower_pooling},
    Entry{OpKind::average_pool_backward, lower_pooling},
    Entry{OpKind::lrn, lower_lrn},
    Entry{OpKind::lrn_backward, lower_lrn},
    Entry{OpKind::dropout, lower_dropout},
    Entry{OpKind::dropout_backward, lower_dropout},
    Entry{OpKind::fully_connected, lower_fully_connected},
    Entry{OpKind::fully_connected_backward_data, lower_fully_connected_backward_data},
    Entry{OpKind::fully_connected_backward_weights, lower_fully_connected_backward_weights},
    Entry{OpKind::concat, lower_concat},
    Entry{OpKind::split, lower_split},
    Entry{OpKind::add, lower_add},
    Entry{OpKind::batch_norm, lower_batch_norm},
    Entry{OpKind::batch_norm_statistics, lower_batch_norm_statistics},
    Entry{OpKind::batch_norm_backward, lower_batch_norm_backward},
    Entry{OpKind::softmax_cross_entropy, lower_softmax_cross_entropy},
    Entry{OpKind::softmax_cross_entropy_backward, lower_softmax_cross_entropy_backward},
    Entry{OpKind::sgd_update, lower_sgd_update},
};

static_assert(std::ranges::equal(kTable, kSupportedOps, {}, &Entry::kind),
              "coverage.h lists other ops than are lowered");

}  // namespace

void lower_op(Lowering& lowering, const TrainingOp& op) {
  const auto* const entry = std::ranges::find(kTable, op.kind, &Entry::kind);
  if (entry == kTable.end()) {
    throw UnsupportedError(fmt::format("device cuda: {} {}: no such op", op_name(op.kind), op.name));
  }
  entry->lower(lowering, op);
}

}  // namespace vdnn::cuda
