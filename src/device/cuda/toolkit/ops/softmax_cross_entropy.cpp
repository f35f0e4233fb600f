#include <fmt/format.h>

#include "device/cuda/toolkit/elements.h"
#include "device/cuda/toolkit/ops/ops.h"

namespace vdnn::cuda {
namespace {

const std::int32_t* labels(const Call& call) {
  return reinterpret_cast<const std::int32_t*>(call.bytes(1));
}

// logits, labels -> loss, probabilities. The workspace has every example's loss.
class Forward : public CudaKernel {
 public:
  Forward(const Shape& logits, double weight) : batch_(logits[0]), classes_(logits[1]), weight_(weight) {}

  [[nodiscard]] std::vector<Candidate> candidates() const override {
    return {{.algorithm = "cuda", .workspace_bytes = batch_ * static_cast<std::int64_t>(sizeof(double))}};
  }

  void run(int, const Call& call) override {
    auto* losses = reinterpret_cast<double*>(call.workspace());
    softmax_cross_entropy({call.floats(0), labels(call), call.floats(3), losses, classes_},
                          {losses, call.floats(2), batch_, weight_}, call.stream);
  }

 private:
  std::int64_t batch_;
  std::int64_t classes_;
  double weight_;
};

// probabilities, labels -> dlogits.
class Backward : public CudaKernel {
 public:
  Backward(const Shape& logits, double weight)
      : batch_(logits[0]),
        classes_(logits[1]),
        scale_(static_cast<float>(weight / static_cast<double>(batch_))) {}

  void run(int, const Call& call) override {
    softmax_cross_entropy_backward({call.floats(0), labels(call), call.floats(2), classes_, scale_}, batch_,
                                   call.stream);
  }

 private:
  std::int64_t batch_;
  std::int64_t classes_;
  float scale_;
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

}  // namespace vdnn::cuda
