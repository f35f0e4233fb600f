#include <fmt/format.h>

#include <cmath>

#include "device/reference/kernels.h"
#include "vdnn/error.h"

namespace vdnn::reference {

// logits, labels -> loss, probabilities
void softmax_cross_entropy(const Call& call) {
  const std::int64_t batch = call.inputs[0].shape[0];
  const std::int64_t classes = call.inputs[0].shape[1];
  double loss = 0;
  for (std::int64_t example = 0; example < batch; ++example) {
    const double* logits = call.input(0) + example * classes;
    double* probabilities = call.output(1) + example * classes;
    const double largest = *std::max_element(logits, logits + classes);
    double sum = 0;
    for (std::int64_t c = 0; c < classes; ++c) sum += probabilities[c] = std::exp(logits[c] - largest);
    for (std::int64_t c = 0; c < classes; ++c) probabilities[c] /= sum;
    const double label = call.input(1)[example];
    if (!(label >= 0 && label < static_cast<double>(classes))) {
      throw DeviceError(
          fmt::format("label {} of example {} is not one of {} classes", label, example, classes));
    }
    // From the logits, because the logarithm of a probability that rounds to zero is infinite.
    loss += std::log(sum) + largest - logits[static_cast<std::int64_t>(label)];
  }
  *call.output(0) =
      call.attributes<SoftmaxCrossEntropyAttributes>().weight * loss / static_cast<double>(batch);
}

// probabilities, labels -> dlogits
void softmax_cross_entropy_backward(const Call& call) {
  const std::int64_t batch = call.inputs[0].shape[0];
  const std::int64_t classes = call.inputs[0].shape[1];
  const double factor = call.attributes<SoftmaxCrossEntropyAttributes>().weight / static_cast<double>(batch);
  for (std::int64_t example = 0; example < batch; ++example) {
    const double* probabilities = call.input(0) + example * classes;
    double* dlogits = call.output(0) + example * classes;
    for (std::int64_t c = 0; c < classes; ++c) dlogits[c] = factor * probabilities[c];
    dlogits[static_cast<std::int64_t>(call.input(1)[example])] -= factor;
  }
}

}  // namespace vdnn::reference
