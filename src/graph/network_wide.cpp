#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "vdnn/training_graph.h"

namespace vdnn {
namespace {

std::int64_t tensor_bytes(const TrainingTensor& tensor) {
  return tensor.shape.elements() * size_bytes(tensor.type);
}

using TensorFilter = std::function<bool(TensorId)>;  // of storage

std::int64_t gradient_map_peak(const TrainingGraph& graph, const TensorFilter& counts) {
  std::map<std::size_t, std::pair<std::size_t, std::size_t>> lives;  // storage -> first and last op
  for (std::size_t i = 0; i < graph.ops.size(); ++i) {
    for (const auto* list : {&graph.ops[i].inputs, &graph.ops[i].outputs}) {
      for (const auto tensor : *list) {
        const auto root = graph.storage[tensor.index()];
        if (graph.tensor(root).role != Role::gradient_map || !counts(root)) continue;
        const auto [life, fresh] = lives.try_emplace(root.index(), i, i);
        life->second.second = i;
      }
    }
  }
  std::map<std::size_t, std::int64_t> change;
  for (const auto& [root, life] : lives) {
    const auto bytes = tensor_bytes(graph.tensors[root]);
    change[life.first] += bytes;
    change[life.second + 1] -= bytes;
  }
  std::int64_t live = 0;
  std::int64_t peak = 0;
  for (const auto& [op, bytes] : change) {
    live += bytes;
    peak = std::max(peak, live);
  }
  return peak;
}

std::int64_t largest_layer(const TrainingGraph& graph) {
  std::vector<std::set<TensorId>> used(graph.layers.size());
  for (const auto& op : graph.ops) {
    if (op.phase == Phase::load || op.phase == Phase::update) continue;
    for (const auto* list : {&op.inputs, &op.outputs}) {
      for (const auto tensor : *list) used[op.layer.index()].insert(graph.storage[tensor.index()]);
    }
  }
  std::int64_t largest = 0;
  for (const auto& roots : used) {
    std::int64_t bytes = 0;
    for (const auto root : roots) bytes += tensor_bytes(graph.tensor(root));
    largest = std::max(largest, bytes);
  }
  return largest;
}

// Tensors that belong to feature-extraction layers: those whose first op does.
std::vector<bool> find_managed(const TrainingGraph& graph) {
  std::vector<bool> managed(graph.tensors.size(), false);
  std::vector<bool> seen(graph.tensors.size(), false);
  for (const auto& op : graph.ops) {
    const bool feature_extraction = graph.layer(op.layer).layer_class == LayerClass::feature_extraction;
    for (const auto* list : {&op.inputs, &op.outputs}) {
      for (const auto tensor : *list) {
        const std::size_t root = graph.storage[tensor.index()].index();
        if (!seen[root]) managed[root] = feature_extraction;
        seen[root] = true;
      }
    }
  }
  return managed;
}

NetworkWide allocation_of(const TrainingGraph& graph, const TensorFilter& counts) {
  NetworkWide result;
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
    const auto& tensor = graph.tensors[i];
    if (graph.storage[i] != TensorId(i) || !counts(TensorId(i))) continue;
    const auto bytes = tensor_bytes(tensor);
    switch (tensor.role) {
      case Role::weight:
        result.weight_bytes += bytes;
        break;
      case Role::weight_gradient:
        result.weight_gradient_bytes += bytes;
        break;
      case Role::feature_map:
        result.feature_map_bytes += bytes;
        break;
      case Role::input:
        // The staged copy of the next batch is not the network's.
        if (!tensor.persistent) result.feature_map_bytes += bytes;
        break;
      default:
        break;
    }
  }
  result.gradient_map_bytes = gradient_map_peak(graph, counts);
  return result;
}

}  // namespace

NetworkWide network_wide(const TrainingGraph& graph) {
  NetworkWide result = allocation_of(graph, [](TensorId) { return true; });
  const std::vector<bool> managed = find_managed(graph);
  result.managed_bytes =
      allocation_of(graph, [&](TensorId id) { return static_cast<bool>(managed[id.index()]); }).total_bytes();
  result.largest_layer_bytes = largest_layer(graph);
  return result;
}

}  // namespace vdnn
