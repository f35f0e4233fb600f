#include "device/op_program.h"

#include <fmt/format.h>

#include "program/granule.h"

namespace vdnn {
namespace {

class OpLowering {
 public:
  OpLowering(const TrainingGraph& graph, const std::string& device,
             const std::function<std::int64_t(const TrainingTensor&)>& bytes_of)
      : graph_(graph), bytes_of_(bytes_of) {
    result_.program = {.name = graph.name,
                       .device = device,
                       .layers = graph.layers,
                       .network_wide = vdnn::network_wide(graph)};
    result_.buffer_of.resize(graph.tensors.size());
  }

  OpProgram run() {
    for (const auto& op : graph_.ops) add_kernel(op);
    return std::move(result_);
  }

 private:
  BufferId buffer_for(TensorId id, LayerId layer) {
    const TensorId root = graph_.storage[id.index()];
    BufferId& buffer = result_.buffer_of[root.index()];
    if (buffer.valid()) return buffer;
    const auto& tensor = graph_.tensor(root);
    buffer = BufferId(result_.program.buffers.size());
    result_.program.buffers.push_back(
        granular({.name = tensor.name,
                  .role = tensor.role,
                  .bytes = bytes_of_(tensor),
                  .persistent = tensor.persistent,
                  .result = tensor.result,
                  .saved_state = tensor.role == Role::feature_map && tensor.type != DataType::float32,
                  .made_by = layer}));
    return buffer;
  }

  void add_kernel(const TrainingOp& op) {
    Kernel kernel{.name = op.name, .op = std::string(op_name(op.kind)), .layer = op.layer, .phase = op.phase};
    kernel.signature = kernel.op;
    const auto view = [&](TensorId id) {
      kernel.signature += fmt::format(" {}", graph_.tensor(id).shape.text());
      return View{buffer_for(id, op.layer), 0, bytes_of_(graph_.tensor(id))};
    };
    for (const auto id : op.inputs) kernel.reads.push_back(view(id));
    for (const auto id : op.outputs) kernel.writes.push_back(view(id));
    result_.program.kernels.push_back(std::move(kernel));
  }

  const TrainingGraph& graph_;
  const std::function<std::int64_t(const TrainingTensor&)>& bytes_of_;
  OpProgram result_;
};

}  // namespace

OpProgram lower_by_op(const TrainingGraph& graph, const std::string& device,
                      const std::function<std::int64_t(const TrainingTensor&)>& bytes_of) {
  return OpLowering(graph, device, bytes_of).run();
}

}  // namespace vdnn
