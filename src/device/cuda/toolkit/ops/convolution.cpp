#include <fmt/format.h>

#include <algorithm>

#include "device/cuda/toolkit/api.h"
#include "device/cuda/toolkit/bias.h"
#include "device/cuda/toolkit/cudnn_graph.h"
#include "device/cuda/toolkit/ops/ops.h"
#include "device/cuda/toolkit/workspace.h"
#include "vdnn/error.h"

namespace vdnn::cuda {
namespace {

constexpr std::size_t kMostCandidates = 8;

// The plan with the least workspace, then the others in the order in which cuDNN likes them.
std::vector<ConvolutionPlan> choose(std::vector<ConvolutionPlan> plans) {
  const auto leanest = std::min_element(plans.begin(), plans.end(), [](const auto& one, const auto& other) {
    return one.workspace_bytes() < other.workspace_bytes();
  });
  std::rotate(plans.begin(), leanest, leanest + 1);
  if (plans.size() > kMostCandidates)
    plans.erase(plans.begin() + static_cast<std::ptrdiff_t>(kMostCandidates), plans.end());
  return plans;
}

// Arguments as in the training graph: (x, weight[, bias]) -> y, (weight, dy) -> dx, (x, dy) -> dweight[,
// dbias].
class Convolution : public CudaKernel {
 public:
  // Of at least one plan.
  Convolution(const ConvolutionProblem& problem, std::vector<ConvolutionPlan> plans)
      : pass_(problem.pass),
        weight_values_(problem.weight.values()),
        y_layout_(problem.y),
        bias_(problem.attributes.bias),
        plans_(choose(std::move(plans))) {}

  [[nodiscard]] std::vector<Candidate> candidates() const override {
    std::vector<Candidate> all;
    for (const auto& plan : plans_) {
      // Measured times are kept by name: plans of an engine, which differ in workspace, are numbered.
      std::string base = fmt::format("engine {}", plan.engine());
      if (!plan.trait().empty()) base += " " + plan.trait();
      std::string name = base;
      for (int i = 2; std::any_of(all.begin(), all.end(), [&](const auto& c) { return c.algorithm == name; });
           ++i) {
        name = fmt::format("{}.{}", base, i);
      }
      all.push_back(
          {.algorithm = std::move(name), .workspace_bytes = stated_workspace_bytes(plan.workspace_bytes())});
    }
    return all;
  }

  void run(int candidate, const Call& call) override {
    const auto& plan = plans_[static_cast<std::size_t>(candidate)];
    std::byte* workspace = plan.workspace_bytes() > 0 ? aligned_workspace(call.workspace()) : nullptr;
    cudnnHandle_t handle = call.libraries.cudnn_on(call.stream);
    switch (pass_) {
      case ConvolutionPass::forward: {
        float* y = call.floats(bias_ ? 3 : 2);
        plan.run(handle, call.floats(0), call.floats(1), y, workspace);
        if (bias_) add_bias(y, call.floats(2), y_layout_, call.stream);
        return;
      }
      case ConvolutionPass::backward_data:
        return plan.run(handle, call.floats(2), call.floats(0), call.floats(1), workspace);
      case ConvolutionPass::backward_weights:
        // First, because the weight's gradient, which is yet to be made, is its scratch.
        if (bias_) {
          sum_bias_gradient(call.floats(3), call.floats(1), y_layout_, {call.floats(2), weight_values_},
                            call.stream);
        }
        return plan.run(handle, call.floats(0), call.floats(2), call.floats(1), workspace);
    }
  }

 private:
  ConvolutionPass pass_;
  std::int64_t weight_values_;
  Layout y_layout_;
  bool bias_;
  std::vector<ConvolutionPlan> plans_;
};

ConvolutionPass pass_of(OpKind kind) {
  if (kind == OpKind::convolution_backward_data) return ConvolutionPass::backward_data;
  return kind == OpKind::convolution ? ConvolutionPass::forward : ConvolutionPass::backward_weights;
}

std::string problem_text(const ConvolutionProblem& problem) {
  const auto& a = problem.attributes;
  return fmt::format("{} {} k{}x{} s{}x{} p{}x{} d{}x{} g{}{}", layout_text(problem.x),
                     layout_text(problem.y), a.kernel.height, a.kernel.width, a.stride.height, a.stride.width,
                     a.padding.height, a.padding.width, a.dilation.height, a.dilation.width, a.groups,
                     a.bias ? " bias" : "");
}

std::shared_ptr<CudaKernel> make_convolution(Libraries& libraries, const TrainingOp& op,
                                             const ConvolutionProblem& problem) {
  auto found = convolution_plans(libraries, problem);
  if (found.plans.empty()) {
    throw UnsupportedError(
        fmt::format("device cuda: {} {} of {}: cuDNN {} has no {}engine for it{}: {}", op_name(op.kind),
                    op.name, problem_text(problem), api().cudnnGetVersion(),
                    libraries.precision().deterministic ? "deterministic " : "",
                    libraries.precision().tf32 ? "" : " without TF32",
                    found.refusal.empty() ? "all are ruled out by their precision" : found.refusal));
  }
  return std::make_shared<Convolution>(problem, std::move(found.plans));
}

}  // namespace

void lower_convolution(Lowering& lowering, const TrainingOp& op) {
  const ConvolutionPass pass = pass_of(op.kind);
  const bool forward = pass == ConvolutionPass::forward;
  const bool backward_data = pass == ConvolutionPass::backward_data;
  const TensorId x = backward_data ? op.outputs[0] : op.inputs[0];
  const TensorId y = forward ? op.outputs[0] : op.inputs[1];
  const TensorId weight = forward ? op.inputs[1] : backward_data ? op.inputs[0] : op.outputs[0];
  const ConvolutionProblem problem{.pass = pass,
                                   .x = lowering.layout(x),
                                   .weight = lowering.layout(weight),
                                   .y = lowering.layout(y),
                                   .attributes = std::get<ConvolutionAttributes>(op.attributes)};
  lowering.emit_whole(op,
                      fmt::format("{} {}{}", op_name(op.kind), problem_text(problem),
                                  precision_text(lowering.libraries().precision())),
                      [&] { return make_convolution(lowering.libraries(), op, problem); });
}

}  // namespace vdnn::cuda
