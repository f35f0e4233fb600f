#include "device/profile/profile_device.h"

#include <fmt/format.h>

#include <algorithm>

#include "device/op_program.h"
#include "device/profile/convolution_model.h"
#include "vdnn/error.h"

namespace vdnn {
namespace {

// Predicts a kernel's seconds as the roofline does (Williams, Waterman, Patterson, CACM 2009): operations at
// the machine's rate or bytes at its bandwidth, whichever takes longer.
class KernelModel {
 public:
  KernelModel(const TrainingGraph& graph, const MachineProfile& profile) : graph_(graph), profile_(profile) {}

  [[nodiscard]] std::vector<Candidate> candidates(const TrainingOp& op, const Kernel& kernel) const {
    switch (op.kind) {
      case OpKind::convolution:
        return convolution(op, kernel, op.inputs[0], op.outputs[0]);
      case OpKind::convolution_backward_data:
        return convolution(op, kernel, op.outputs[0], op.inputs[1]);
      case OpKind::convolution_backward_weights:
        return convolution(op, kernel, op.inputs[0], op.inputs[1]);
      case OpKind::fully_connected:
        return {{.algorithm = "gemm", .seconds = matrix_seconds(op.inputs[1], op.outputs[0], kernel)}};
      case OpKind::fully_connected_backward_data:
        return {{.algorithm = "gemm", .seconds = matrix_seconds(op.inputs[0], op.inputs[1], kernel)}};
      case OpKind::fully_connected_backward_weights:
        return {{.algorithm = "gemm", .seconds = matrix_seconds(op.outputs[0], op.inputs[1], kernel)}};
      default:
        return {{.algorithm = "stream", .seconds = seconds(0, 1, touched_bytes(kernel))}};
    }
  }

 private:
  static double touched_bytes(const Kernel& kernel) {
    double bytes = 0;
    for (const auto* views : {&kernel.reads, &kernel.writes}) {
      for (const auto& view : *views) bytes += static_cast<double>(view.bytes);
    }
    return bytes;
  }

  [[nodiscard]] double seconds(double flops, double efficiency, double bytes) const {
    return profile_.launch_seconds +
           std::max(flops / (profile_.flops_per_s * efficiency),
                    bytes / (profile_.memory_bytes_per_s * profile_.memory_efficiency));
  }

  // weight: outputs x inputs; y: batch x outputs. The three products of a layer have the same operations.
  [[nodiscard]] double matrix_seconds(TensorId weight, TensorId y, const Kernel& kernel) const {
    const double flops = 2.0 * static_cast<double>(graph_.tensor(weight).shape.elements()) *
                         static_cast<double>(graph_.tensor(y).shape[0]);
    return seconds(flops, profile_.matrix_efficiency, touched_bytes(kernel));
  }

  [[nodiscard]] std::vector<Candidate> convolution(const TrainingOp& op, const Kernel& kernel, TensorId x,
                                                   TensorId y) const {
    const ConvolutionKernel problem{.x = graph_.tensor(x).shape,
                                    .y = graph_.tensor(y).shape,
                                    .attributes = std::get<ConvolutionAttributes>(op.attributes),
                                    .forward = op.kind == OpKind::convolution};
    std::vector<Candidate> all;
    for (const auto& algorithm : profile_.convolution_algorithms) {
      const auto need = convolution_need(algorithm.family, problem);
      if (!need) continue;
      all.push_back({.algorithm = algorithm.family,
                     .workspace_bytes = need->workspace_bytes,
                     .seconds = seconds(need->flops, algorithm.efficiency,
                                        touched_bytes(kernel) + need->workspace_traffic_bytes)});
    }
    return all;
  }

  const TrainingGraph& graph_;
  const MachineProfile& profile_;
};

std::int64_t bytes_of(const TrainingTensor& tensor) {
  return tensor.shape.elements() * size_bytes(tensor.type);
}

class ProfileExecutable : public Executable {
 public:
  ProfileExecutable(const TrainingGraph& graph, const MachineProfile& profile)
      : profile_(profile),
        storage_(graph.storage),
        lowered_(lower_by_op(graph, "profile:" + profile.name, bytes_of)) {
    const KernelModel model(graph, profile_);
    for (const auto& tensor : graph.tensors) counts_.push_back(tensor.shape.elements());
    for (std::size_t k = 0; k < graph.ops.size(); ++k) {
      Kernel& kernel = lowered_.program.kernels[k];
      kernel.candidates = model.candidates(graph.ops[k], kernel);
    }
  }

  [[nodiscard]] const Program& program() const override { return lowered_.program; }
  [[nodiscard]] std::optional<Links> described_links() const override { return profile_.links; }
  [[nodiscard]] bool has_host_memory() const override { return true; }
  [[nodiscard]] std::vector<BoundTensor> tensor(TensorId tensor) const override {
    return {{lowered_.buffer_of[storage_[tensor.index()].index()], 0, counts_[tensor.index()]}};
  }
  [[nodiscard]] std::string cost_key(int) const override { return "profile:" + profile_.name; }
  std::unique_ptr<KernelTimer> open_timer(int) override { refuse(); }
  void set_seconds(KernelId kernel, int candidate, double seconds) override {
    lowered_.program.kernels[kernel.index()].candidates[static_cast<std::size_t>(candidate)].seconds =
        seconds;
  }
  std::unique_ptr<DeviceContext> open(const ArenaOptions&) override { refuse(); }

 private:
  [[noreturn]] void refuse() const {
    throw UnsupportedError(fmt::format(
        "profile:{} is a description of a machine: it plans and predicts, and runs nothing", profile_.name));
  }

  MachineProfile profile_;
  std::vector<TensorId> storage_;
  std::vector<std::int64_t> counts_;  // values by tensor
  OpProgram lowered_;
};

}  // namespace

DeviceDescription ProfileDevice::description() const {
  return {.name = "profile:" + profile_.name,
          .summary = profile_.summary,
          .free_bytes = profile_.memory_bytes,
          .threads = 1};
}

std::unique_ptr<Executable> ProfileDevice::lower(const TrainingGraph& graph, int) const {
  return std::make_unique<ProfileExecutable>(graph, profile_);
}

}  // namespace vdnn
