#include <fmt/format.h>

#include <limits>

#include "device/cuda/toolkit/api.h"
#include "device/cuda/toolkit/ops/ops.h"
#include "device/cuda/toolkit/statistics.h"
#include "vdnn/error.h"

namespace vdnn::cuda {
namespace {

// The mode that is exact for any range of values; the graph interface's norm has float32 for channels-last
// maps alone, and the persistent mode turns what it cannot count into NaN.
constexpr cudnnBatchNormMode_t kMode = CUDNN_BATCHNORM_SPATIAL;

struct DestroyTensor {
  void operator()(cudnnTensorDescriptor_t tensor) const { api().cudnnDestroyTensorDescriptor(tensor); }
};
using Tensor = std::unique_ptr<cudnnTensorStruct, DestroyTensor>;

Tensor make_tensor() {
  cudnnTensorDescriptor_t made = nullptr;
  check(api().cudnnCreateTensorDescriptor(&made), "cudnnCreateTensorDescriptor");
  return Tensor(made);
}

Tensor tensor_of(const Layout& layout) {
  const auto extent = [&](std::size_t axis) { return static_cast<int>(layout.shape[axis]); };
  Tensor tensor = make_tensor();
  check(api().cudnnSetTensor4dDescriptor(tensor.get(),
                                         layout.channels_last ? CUDNN_TENSOR_NHWC : CUDNN_TENSOR_NCHW,
                                         CUDNN_DATA_FLOAT, extent(0), extent(1), extent(2), extent(3)),
        "cudnnSetTensor4dDescriptor");
  return tensor;
}

// cuDNN saves 1 / sqrt(variance + epsilon) instead of the variance: on this device the graph's variance holds
// that, and batch_norm_statistics converts.
class BatchNorm : public CudaKernel {
 public:
  BatchNorm(bool forward, const Layout& x, double epsilon)
      : forward_(forward), epsilon_(epsilon), x_(tensor_of(x)), channels_(make_tensor()) {
    check(api().cudnnDeriveBNTensorDescriptor(channels_.get(), x_.get(), kMode),
          "cudnnDeriveBNTensorDescriptor");
  }

  [[nodiscard]] std::vector<Candidate> candidates() const override { return {{.algorithm = "spatial"}}; }

  // Forward: x, scale, shift -> y, mean, variance.
  // Backward: x, mean, variance, scale, dy -> dx, dscale, dshift.
  void run(int, const Call& call) override {
    cudnnHandle_t handle = call.libraries.cudnn_on(call.stream);
    const float one = 1;
    const float zero = 0;
    if (forward_) {
      // Without running statistics, whose factor then means nothing: a layer may be computed twice.
      check(api().cudnnBatchNormalizationForwardTraining(handle, kMode, &one, &zero, x_.get(), call.floats(0),
                                                         x_.get(), call.floats(3), channels_.get(),
                                                         call.floats(1), call.floats(2), 1.0, nullptr,
                                                         nullptr, epsilon_, call.floats(4), call.floats(5)),
            "cudnnBatchNormalizationForwardTraining");
      return;
    }
    check(api().cudnnBatchNormalizationBackward(
              handle, kMode, &one, &zero, &one, &zero, x_.get(), call.floats(0), x_.get(), call.floats(4),
              x_.get(), call.floats(5), channels_.get(), call.floats(3), call.floats(6), call.floats(7),
              epsilon_, call.floats(1), call.floats(2)),
          "cudnnBatchNormalizationBackward");
  }

 private:
  bool forward_;
  double epsilon_;
  Tensor x_;
  Tensor channels_;
};

// Reads mean, variance (as cuDNN saves it) and the running ones, which it updates.
class Statistics : public CudaKernel {
 public:
  Statistics(std::int64_t channels, const BatchNormAttributes& attributes)
      : channels_(channels), attributes_(attributes) {}

  void run(int, const Call& call) override {
    update_running_statistics({.mean = call.floats(0),
                               .inverse_deviation = call.floats(1),
                               .running_mean = call.floats(2),
                               .running_variance = call.floats(3),
                               .momentum = attributes_.momentum,
                               .epsilon = attributes_.epsilon},
                              channels_, call.stream);
  }

 private:
  std::int64_t channels_;
  BatchNormAttributes attributes_;
};

void lower_norm(Lowering& lowering, const TrainingOp& op, bool forward) {
  const Layout x = lowering.layout(op.inputs[0]);
  if (x.values() > std::numeric_limits<std::int32_t>::max()) {
    throw UnsupportedError(fmt::format("device cuda: {} {} of {}: cuDNN counts values in 31 bits",
                                       op_name(op.kind), op.name, x.shape.text()));
  }
  const double epsilon = std::get<BatchNormAttributes>(op.attributes).epsilon;
  lowering.emit_whole(op, fmt::format("{} {} {}", op_name(op.kind), layout_text(x), epsilon),
                      [&] { return std::make_shared<BatchNorm>(forward, x, epsilon); });
}

}  // namespace

void lower_batch_norm(Lowering& lowering, const TrainingOp& op) {
  lower_norm(lowering, op, true);
}
void lower_batch_norm_backward(Lowering& lowering, const TrainingOp& op) {
  lower_norm(lowering, op, false);
}

void lower_batch_norm_statistics(Lowering& lowering, const TrainingOp& op) {
  const std::int64_t channels = lowering.shape(op.inputs[0])[0];
  const auto& a = std::get<BatchNormAttributes>(op.attributes);
  lowering.emit_whole(op, fmt::format("batch_norm_statistics {} {} {}", channels, a.momentum, a.epsilon),
                      [&] { return std::make_shared<Statistics>(channels, a); });
}

}  // namespace vdnn::cuda
