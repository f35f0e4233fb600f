#include "device/reference/reference_device.h"

#include <algorithm>

#include "base/free_memory.h"
#include "device/host/context.h"
#include "device/op_program.h"
#include "device/reference/reference_kernels.h"

namespace vdnn {
namespace {

// A guess from the bytes that a kernel touches: good enough for a device that nobody waits for.
class BytesTimer : public KernelTimer {
 public:
  explicit BytesTimer(const Program& program) : program_(program) {}

  double seconds(KernelId id, int) override {
    const Kernel& kernel = program_.kernel(id);
    std::int64_t bytes = 0;
    for (const auto& view : kernel.reads) bytes += view.bytes;
    for (const auto& view : kernel.writes) bytes += view.bytes;
    return 1e-6 + static_cast<double>(bytes) * 1e-9;
  }

 private:
  const Program& program_;
};

class ReferenceExecutable : public Executable, public HostCode {
 public:
  explicit ReferenceExecutable(const TrainingGraph& graph) : graph_(graph) {
    OpProgram lowered = lower_by_op(graph, "reference",
                                    [](const TrainingTensor& tensor) { return tensor.shape.elements() * 8; });
    program_ = std::move(lowered.program);
    buffer_of_ = std::move(lowered.buffer_of);
    for (auto& kernel : program_.kernels) kernel.candidates = {{.algorithm = "loops"}};
  }

  [[nodiscard]] const Program& program() const override { return program_; }

  [[nodiscard]] std::vector<BoundTensor> tensor(TensorId tensor) const override {
    return {{buffer_of_[graph_.storage[tensor.index()].index()], 0, graph_.tensor(tensor).shape.elements()}};
  }

  [[nodiscard]] std::string cost_key(int) const override { return "reference"; }

  std::unique_ptr<KernelTimer> open_timer(int) override { return std::make_unique<BytesTimer>(program_); }

  void set_seconds(KernelId kernel, int candidate, double seconds) override {
    program_.kernels[kernel.index()].candidates[static_cast<std::size_t>(candidate)].seconds = seconds;
  }

  std::unique_ptr<DeviceContext> open(const ArenaOptions& options) override {
    return std::make_unique<HostContext>(program_, *this, options, nullptr);
  }

  void run(KernelId kernel, int, std::span<std::byte* const> arguments, const StepScalars& scalars) override {
    const TrainingOp& op = graph_.ops[kernel.index()];
    std::vector<reference::Tensor> tensors;
    for (const auto* list : {&op.inputs, &op.outputs}) {
      for (const auto id : *list) {
        tensors.push_back({graph_.tensor(id).shape, reinterpret_cast<double*>(arguments[tensors.size()])});
      }
    }
    const std::span<const reference::Tensor> all(tensors);
    reference::run(op, all.first(op.inputs.size()), all.subspan(op.inputs.size()), scalars);
  }

  void write_values(BufferId, std::byte* data, std::int64_t first,
                    std::span<const float> values) const override {
    std::copy(values.begin(), values.end(), reinterpret_cast<double*>(data) + first);
  }

  void read_values(BufferId, const std::byte* data, std::int64_t first,
                   std::span<float> values) const override {
    const auto* source = reinterpret_cast<const double*>(data) + first;
    std::transform(source, source + values.size(), values.begin(),
                   [](double v) { return static_cast<float>(v); });
  }

 private:
  TrainingGraph graph_;
  Program program_;
  std::vector<BufferId> buffer_of_;  // by storage root
};

}  // namespace

DeviceDescription ReferenceDevice::description() const {
  return {.name = "reference",
          .summary = "plain loops in double precision, for tests",
          .free_bytes = free_memory_bytes(),
          .threads = 1};
}

std::unique_ptr<Executable> ReferenceDevice::lower(const TrainingGraph& graph, int) const {
  return std::make_unique<ReferenceExecutable>(graph);
}

}  // namespace vdnn
