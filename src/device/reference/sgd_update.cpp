#include "device/reference/kernels.h"

namespace vdnn::reference {

// gradient, weight[, momentum] -> weight[, momentum], in place. Without momentum state the step is the
// decayed gradient itself.
void sgd_update(const Call& call) {
  const auto& a = call.attributes<SgdAttributes>();
  const double* gradient = call.input(0);
  double* weight = call.output(0);
  double* momentum = call.outputs.size() > 1 ? call.output(1) : nullptr;
  const std::int64_t count = call.outputs[0].shape.elements();
  for (std::int64_t i = 0; i < count; ++i) {
    double step = gradient[i] + a.weight_decay * weight[i];
    if (momentum != nullptr) step = momentum[i] = a.momentum * momentum[i] + step;
    weight[i] -= call.scalars.learning_rate * step;
  }
}

}  // namespace vdnn::reference
