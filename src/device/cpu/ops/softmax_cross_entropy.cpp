#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "device/cpu/ops/ops.h"
#include "vdnn/error.h"

namespace vdnn::cpu {
namespace {

// logits, labels -> loss, probabilities.
class Forward : public CpuKernel {
 public:
  Forward(const Shape& logits, double weight) : batch_(logits[0]), classes_(logits[1]), weight_(weight) {}

  void run(int, const Call& call) override {
    const auto* labels = reinterpret_cast<const std::int32_t*>(call.bytes(1));
    double loss = 0;
    for (std::int64_t n = 0; n < batch_; ++n) {
      const float* logits = call.floats(0) + n * classes_;
      float* probabilities = call.floats(3) + n * classes_;
      const float largest = *std::max_element(logits, logits + classes_);
      double sum = 0;
      for (std::int64_t c = 0; c < classes_; ++c) sum += std::exp(static_cast<double>(logits[c] - largest));
      for (std::int64_t c = 0; c < classes_; ++c) {
        probabilities[c] = static_cast<float>(std::exp(static_cast<double>(logits[c] - largest)) / sum);
      }
      if (labels[n] < 0 || labels[n] >= classes_) {
        throw DeviceError(
            fmt::format("label {} of example {} is not one of {} classes", labels[n], n, classes_));
      }
      loss += std::log(sum) - static_cast<double>(logits[labels[n]] - largest);
    }
    call.floats(2)[0] = static_cast<float>(weight_ * loss / static_cast<double>(batch_));
  }

 private:
  std::int64_t batch_;
  std::int64_t classes_;
  double weight_;
};

// probabilities, labels -> dlogits.
class Backward : public CpuKernel {
 public:
  Backward(const Shape& logits, double weight) : batch_(logits[0]), classes_(logits[1]), weight_(weight) {}

  void run(int, const Call& call) override {
    const auto* labels = reinterpret_cast<const std::int32_t*>(call.bytes(1));
    const auto scale = static_cast<float>(weight_ / static_cast<double>(batch_));
    for (std::int64_t n = 0; n < batch_; ++n) {
      const float* probabilities = call.floats(0) + n * classes_;
      float* gradient = call.floats(2) + n * classes_;
      for (std::int64_t c = 0; c < classes_; ++c) gradient[c] = scale * probabilities[c];
      gradient[labels[n]] -= scale;
    }
  }

 private:
  std::int64_t batch_;
  std::int64_t classes_;
  double weight_;
};

template <class Kernel>
void lower(Lowering& lowering, const TrainingOp& op) {
  const Shape& logits = lowering.shape(op.inputs[0]);
  const double weight = std::get<SoftmaxCrossEntropyAttributes>(op.attributes).weight;
  lowering.emit_whole(op, fmt::format("{} {} {}", op_name(op.kind), logits.text(), weight),
                      [&] { return std::make_shared<Kernel>(logits, weight); });
}

}  // namespace

void lower_softmax_cross_entropy(Lowering& lowering, const TrainingOp& op) {
  lower<Forward>(lowering, op);
}
void lower_softmax_cross_entropy_backward(Lowering& lowering, const TrainingOp& op) {
  lower<Backward>(lowering, op);
}

}  // namespace vdnn::cpu
