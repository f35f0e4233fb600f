#include "device/reference/kernels.h"

namespace vdnn::reference {

// x, weight[, bias] -> y. x is batch x features however its examples are shaped; weight is
// out features x in features.
void fully_connected(const Call& call) {
  const double* x = call.input(0);
  const double* weight = call.input(1);
  const double* bias = call.inputs.size() > 2 ? call.input(2) : nullptr;
  double* y = call.output(0);
  const std::int64_t outs = call.inputs[1].shape[0];
  const std::int64_t ins = call.inputs[1].shape[1];
  for (std::int64_t example = 0; example < call.outputs[0].shape[0]; ++example) {
    for (std::int64_t out = 0; out < outs; ++out) {
      double sum = bias != nullptr ? bias[out] : 0.0;
      for (std::int64_t in = 0; in < ins; ++in) sum += weight[out * ins + in] * x[example * ins + in];
      y[example * outs + out] = sum;
    }
  }
}

// x, dy -> dweight[, dbias]
void fully_connected_backward_weights(const Call& call) {
  const double* x = call.input(0);
  const double* dy = call.input(1);
  double* dweight = call.output(0);
  const std::int64_t outs = call.outputs[0].shape[0];
  const std::int64_t ins = call.outputs[0].shape[1];
  const std::int64_t batch = call.inputs[1].shape[0];
  fill_zero(call.outputs[0]);
  for (std::int64_t example = 0; example < batch; ++example) {
    for (std::int64_t out = 0; out < outs; ++out) {
      for (std::int64_t in = 0; in < ins; ++in) {
        dweight[out * ins + in] += dy[example * outs + out] * x[example * ins + in];
      }
    }
  }
  if (call.outputs.size() < 2) return;
  double* dbias = call.output(1);
  fill_zero(call.outputs[1]);
  for (std::int64_t i = 0; i < batch * outs; ++i) dbias[i % outs] += dy[i];
}

// weight, dy -> dx
void fully_connected_backward_data(const Call& call) {
  const double* weight = call.input(0);
  const double* dy = call.input(1);
  double* dx = call.output(0);
  const std::int64_t outs = call.inputs[0].shape[0];
  const std::int64_t ins = call.inputs[0].shape[1];
  fill_zero(call.outputs[0]);
  for (std::int64_t example = 0; example < call.inputs[1].shape[0]; ++example) {
    for (std::int64_t out = 0; out < outs; ++out) {
      for (std::int64_t in = 0; in < ins; ++in) {
        dx[example * ins + in] += weight[out * ins + in] * dy[example * outs + out];
      }
    }
  }
}

}  // namespace vdnn::reference
