#pragma once

#include <string_view>

#include "plan/lowered.h"

namespace vdnn::testing {

// images -> conv1 relu1 -> conv2 relu2 -> pool -> conv3 relu3 -> fc -> loss, batch 4; every map in front of
// fc has 64 KiB or more at 64x64 pixels on the reference device, none at 4x4.
inline Graph sample_network(std::int64_t pixels = 64) {
  GraphBuilder b("sample", {4, 3, pixels, pixels});
  const ConvolutionAttributes convolution{.channels = 16, .kernel = {3, 3}, .padding = {1, 1}};
  TensorId x = b.relu("relu1", b.convolution("conv1", b.input(), convolution));
  x = b.relu("relu2", b.convolution("conv2", x, convolution));
  x = b.max_pool("pool", x, {.kernel = {2, 2}, .stride = {2, 2}});
  x = b.relu("relu3", b.convolution("conv3", x, convolution));
  b.softmax_cross_entropy("loss", b.fully_connected("fc", x, {.features = 10}));
  return std::move(b).build();
}

// A plan read by names: of a layer's kernels, and of buffers by the tensor they were made for.
class NamedPlan {
 public:
  NamedPlan(Program program, Plan plan) : program_(std::move(program)), plan_(std::move(plan)) {}
  NamedPlan(const Graph& graph, std::string_view policy)
      : program_(lowered(graph)), plan_(planned(program_, policy)) {}

  [[nodiscard]] const Program& program() const { return program_; }
  [[nodiscard]] const Plan& plan() const { return plan_; }

  // Step of the layer's first kernel in a direction.
  [[nodiscard]] std::int64_t launch(std::string_view layer, Phase phase) const {
    for (std::size_t s = 0; s < plan_.steps.size(); ++s) {
      if (plan_.steps[s].kind != StepKind::launch) continue;
      const Kernel& kernel = program_.kernel(plan_.steps[s].kernel);
      if (kernel.phase == phase && program_.layers[kernel.layer.index()].name == layer) {
        return static_cast<std::int64_t>(s);
      }
    }
    return -1;
  }
  [[nodiscard]] std::int64_t forward(std::string_view layer) const { return launch(layer, Phase::forward); }
  [[nodiscard]] std::int64_t backward(std::string_view layer) const { return launch(layer, Phase::backward); }

  // Step of a buffer's copy; -1: none.
  [[nodiscard]] std::int64_t copy(StepKind kind, std::string_view buffer) const {
    for (std::size_t s = 0; s < plan_.steps.size(); ++s) {
      if (plan_.steps[s].kind == kind && program_.buffer(plan_.steps[s].buffer).name == buffer) {
        return static_cast<std::int64_t>(s);
      }
    }
    return -1;
  }

  // The first launch at or behind a step: the kernel that a copy starts with.
  [[nodiscard]] std::int64_t next_launch(std::int64_t step) const {
    while (plan_.steps[static_cast<std::size_t>(step)].kind != StepKind::launch) ++step;
    return step;
  }
  [[nodiscard]] std::int64_t offloaded_with(std::string_view buffer) const {
    return next_launch(copy(StepKind::offload, buffer));
  }
  [[nodiscard]] std::int64_t fetched_with(std::string_view buffer) const {
    return next_launch(copy(StepKind::prefetch, buffer));
  }

  [[nodiscard]] std::vector<std::string> offloaded() const {
    std::vector<std::string> names;
    for (const auto& step : plan_.steps) {
      if (step.kind == StepKind::offload) names.push_back(program_.buffer(step.buffer).name);
    }
    return names;
  }

  [[nodiscard]] std::vector<Interval> stays(std::string_view buffer) const {
    std::vector<Interval> result;
    for (const auto& placement : plan_.placements) {
      if (placement.buffer.valid() && program_.buffer(placement.buffer).name == buffer)
        result.push_back(placement.steps);
    }
    return result;
  }

 private:
  Program program_;
  Plan plan_;
};

}  // namespace vdnn::testing
