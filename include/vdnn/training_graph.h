#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "vdnn/graph.h"

namespace vdnn {

enum class Phase { load, forward, backward, update };
std::string_view phase_name(Phase phase);

// vDNN (MICRO 2016, section 3) manages feature-extraction layers; classifier layers are the fully
// connected ones and all that follows them.
enum class LayerClass { feature_extraction, classifier };

struct Layer {
  std::string name;
  OpKind kind{};
  LayerClass layer_class = LayerClass::feature_extraction;
  bool in_place = false;  // its output overwrites its input
};

struct TrainingTensor {
  std::string name;
  Shape shape;
  DataType type = DataType::float32;
  Role role = Role::feature_map;
  // Survives from step to step: weights, optimizer state, the staged batch.
  bool persistent = false;
  // Read by the host when the step is over: losses.
  bool result = false;
};

struct TrainingOp {
  OpKind kind{};
  std::string name;
  LayerId layer;
  Phase phase = Phase::forward;
  Attributes attributes;
  std::vector<TensorId> inputs;
  std::vector<TensorId> outputs;    // a tensor in both lists is updated in place
  std::uint32_t random_stream = 0;  // names the op's random numbers
};

// A weight with what is known of it outside a step.
struct TrainedParameter {
  Parameter parameter;
  TensorId tensor;
  std::vector<TensorId> optimizer_state;
  std::uint32_t random_stream = 0;  // names its initial values
};

// One training step: load, forward, loss, backward and update, in a fixed order. A value.
struct TrainingGraph {
  std::string name;
  std::vector<TrainingTensor> tensors;
  std::vector<TrainingOp> ops;
  std::vector<Layer> layers;
  std::vector<TrainedParameter> parameters;
  TensorId staged_images;
  TensorId staged_labels;
  std::vector<TensorId> losses;
  std::int64_t classes = 0;
  // storage[t]: the tensor whose memory t shares; t itself where it has its own. Ops that may work in
  // place (activations, dropout, sums) do so where nobody reads their input afterwards.
  std::vector<TensorId> storage;

  [[nodiscard]] const TrainingTensor& tensor(TensorId id) const { return tensors[id.index()]; }
  [[nodiscard]] const Layer& layer(LayerId id) const { return layers[id.index()]; }
};

// Appends loss gradients, backward ops in reverse order, sums where a tensor forks, and an update per
// weight as soon as its gradient is complete and the weight has been read for the last time.
TrainingGraph differentiate(const Graph& graph, const SgdAttributes& optimizer);

// What a framework of the paper's time reserves for the graph, without a backend's padding: all
// feature maps (input and saved state included), weights, weight gradients and the live peak of the
// gradient maps. Workspace is the backend's and comes on top; optimizer state is not counted.
struct NetworkWide {
  std::int64_t feature_map_bytes = 0;
  std::int64_t weight_bytes = 0;
  std::int64_t weight_gradient_bytes = 0;
  std::int64_t gradient_map_bytes = 0;
  std::int64_t largest_layer_bytes = 0;  // the most that the kernels of one layer use at a time
  std::int64_t managed_bytes = 0;  // of the total: what feature-extraction layers have, which vDNN manages

  [[nodiscard]] std::int64_t total_bytes() const {
    return feature_map_bytes + weight_bytes + weight_gradient_bytes + gradient_map_bytes;
  }
};
NetworkWide network_wide(const TrainingGraph& graph);

}  // namespace vdnn
