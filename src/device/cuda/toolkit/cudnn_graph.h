#pragma once

#include <cudnn.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "device/cuda/layout.h"
#include "device/cuda/toolkit/libraries.h"
#include "vdnn/attributes.h"

namespace vdnn::cuda {

// A descriptor of cuDNN's graph interface, destroyed with its owner.
struct DestroyDescriptor {
  void operator()(cudnnBackendDescriptor_t descriptor) const;
};
using Descriptor = std::unique_ptr<void, DestroyDescriptor>;

enum class ConvolutionPass { forward, backward_data, backward_weights };

// A convolution y = x * weight with x [batch x channels x height x width], weight [outputs x channels /
// groups x height x width] and y [batch x outputs x height x width], or one of its gradients, which lie as
// the tensors themselves.
struct ConvolutionProblem {
  ConvolutionPass pass = ConvolutionPass::forward;
  Layout x;
  Layout weight;
  Layout y;
  ConvolutionAttributes attributes;
};

// An engine of cuDNN with its settings, ready to run one problem.
class ConvolutionPlan {
 public:
  // The graph that the configuration was made for lives as long as the plan.
  ConvolutionPlan(std::shared_ptr<const std::vector<Descriptor>> graph, Descriptor configuration,
                  Descriptor plan, std::int64_t engine, std::string trait, std::int64_t workspace_bytes);

  // cuDNN's number of the engine, the same for all its settings.
  [[nodiscard]] std::int64_t engine() const { return engine_; }
  // "winograd", "fft" or nothing.
  [[nodiscard]] const std::string& trait() const { return trait_; }
  [[nodiscard]] std::int64_t workspace_bytes() const { return workspace_bytes_; }

  // Enqueues the convolution on the handle's stream; of x, weight and y it writes the one that the pass
  // makes. The workspace may be null where none is needed. Throws DeviceError.
  void run(cudnnHandle_t handle, float* x, float* weight, float* y, std::byte* workspace) const;

 private:
  std::shared_ptr<const std::vector<Descriptor>> graph_;
  Descriptor configuration_;
  Descriptor plan_;
  std::int64_t engine_;
  std::string trait_;
  std::int64_t workspace_bytes_;
};

struct ConvolutionPlans {
  // Those that differ in engine or workspace, the one first that cuDNN believes fastest; then their variants,
  // which differ in settings, likewise.
  std::vector<ConvolutionPlan> plans;
  std::string refusal;  // the last reason why something was no plan
};

// Ways to run the problem within the precision. None where cuDNN has none.
ConvolutionPlans convolution_plans(Libraries& libraries, const ConvolutionProblem& problem);

}  // namespace vdnn::cuda
