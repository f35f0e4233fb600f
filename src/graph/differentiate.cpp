#include <algorithm>
#include <array>

#include "graph/op_family.h"
#include "vdnn/training_graph.h"

namespace vdnn {

std::string_view phase_name(Phase phase) {
  constexpr std::array<std::string_view, 4> kNames = {"load", "forward", "backward", "update"};
  return kNames[static_cast<std::size_t>(phase)];
}

namespace {

class Differentiation {
 public:
  Differentiation(const Graph& graph, const SgdAttributes& optimizer)
      : graph_(graph), optimizer_(optimizer), backward_(training_) {
    training_.name = graph.name();
    training_.classes = graph.classes();
    trained_of_.resize(graph.tensors().size());
  }

  TrainingGraph run() {
    load();
    for (const auto& op : graph_.ops()) forward(op);
    backward_.phase = Phase::backward;
    for (auto op = forward_ops_.rbegin(); op != forward_ops_.rend(); ++op) backward(*op);
    share_storage();
    return std::move(training_);
  }

 private:
  void load() {
    const Shape& images = graph_.tensor(graph_.input()).shape;
    const Shape labels = {images[0]};
    const auto add = [&](std::string name, const Shape& shape, DataType type, bool persistent) {
      return backward_.add_tensor({.name = std::move(name),
                                   .shape = shape,
                                   .type = type,
                                   .role = Role::input,
                                   .persistent = persistent});
    };
    training_.staged_images = add("staged_images", images, DataType::float32, true);
    training_.staged_labels = add("staged_labels", labels, DataType::int32, true);
    trained_of_[graph_.input().index()] = add("images", images, DataType::float32, false);
    labels_ = add("labels", labels, DataType::int32, false);
    training_.layers.push_back({.name = "data", .kind = OpKind::load_batch});
    backward_.append({.kind = OpKind::load_batch,
                      .name = "data",
                      .layer = LayerId(0),
                      .phase = Phase::load,
                      .inputs = {training_.staged_images, training_.staged_labels},
                      .outputs = {trained_of_[0], labels_}});
  }

  void add_parameter(const Parameter& parameter, TrainingOp& op) {
    const TensorId tensor = backward_.add_tensor(
        {.name = parameter.name, .shape = parameter.shape, .role = Role::weight, .persistent = true});
    TrainedParameter trained{.parameter = parameter,
                             .tensor = tensor,
                             .random_stream = static_cast<std::uint32_t>(training_.parameters.size())};
    if (!parameter.statistics && optimizer_.momentum != 0) {
      trained.optimizer_state.push_back(backward_.add_tensor({.name = parameter.name + ".momentum",
                                                              .shape = parameter.shape,
                                                              .role = Role::optimizer_state,
                                                              .persistent = true}));
    }
    training_.parameters.push_back(std::move(trained));
    op.inputs.push_back(tensor);
  }

  void forward(const ForwardOp& forward_op) {
    TrainingOp op{.kind = forward_op.kind,
                  .name = forward_op.name,
                  .layer = LayerId(training_.layers.size()),
                  .phase = Phase::forward,
                  .attributes = forward_op.attributes,
                  .random_stream = static_cast<std::uint32_t>(training_.layers.size())};
    bool learns = false;
    bool behind_classifier =
        forward_op.kind == OpKind::fully_connected || forward_op.kind == OpKind::softmax_cross_entropy;
    for (const auto input : forward_op.inputs) {
      const TensorId x = trained_of_[input.index()];
      op.inputs.push_back(x);
      learns = learns || backward_.needs_gradient_flags[x.index()];
      behind_classifier = behind_classifier || classifier_output_[x.index()];
    }
    for (const auto& parameter : forward_op.parameters) {
      add_parameter(parameter, op);
      learns = learns || !parameter.statistics;
    }
    const bool loss = forward_op.kind == OpKind::softmax_cross_entropy;
    if (loss) op.inputs.push_back(labels_);
    const TensorId y = backward_.add_tensor(
        {.name = forward_op.name, .shape = graph_.tensor(forward_op.output).shape, .result = loss});
    if (loss) training_.losses.push_back(y);
    op.outputs = {y};
    backward_.needs_gradient_flags[y.index()] = learns;
    classifier_output_.resize(training_.tensors.size());
    classifier_output_[y.index()] = behind_classifier;
    trained_of_[forward_op.output.index()] = y;
    training_.layers.push_back(
        {.name = forward_op.name,
         .kind = forward_op.kind,
         .layer_class = behind_classifier ? LayerClass::classifier : LayerClass::feature_extraction});
    const std::size_t at = training_.ops.size();
    const OpFamily& family = op_family(op.kind);
    family.forward(backward_, std::move(op));
    forward_ops_.push_back(training_.ops[at]);
    classifier_output_.resize(training_.tensors.size());
  }

  void backward(const TrainingOp& op) {
    const bool loss = op.kind == OpKind::softmax_cross_entropy;
    if (loss || backward_.gradient(op.outputs[0]).valid()) op_family(op.kind).gradient(backward_, op);
    for (const auto& [weight, gradient] : backward_.pending_updates) update(op, weight, gradient);
    backward_.pending_updates.clear();
  }

  void update(const TrainingOp& of, TensorId weight, TensorId gradient) {
    const auto trained = std::find_if(training_.parameters.begin(), training_.parameters.end(),
                                      [&](const auto& parameter) { return parameter.tensor == weight; });
    TrainingOp op{.kind = OpKind::sgd_update,
                  .name = trained->parameter.name,
                  .layer = of.layer,
                  .phase = Phase::update,
                  .attributes = optimizer_,
                  .inputs = {gradient, weight},
                  .outputs = {weight}};
    for (const auto state : trained->optimizer_state) {
      op.inputs.push_back(state);
      op.outputs.push_back(state);
    }
    backward_.append(std::move(op));
  }

  void share_storage() {
    auto& storage = training_.storage;
    for (std::size_t i = 0; i < training_.tensors.size(); ++i) storage.emplace_back(i);
    std::vector<std::size_t> last_read(training_.tensors.size(), 0);
    for (std::size_t i = 0; i < training_.ops.size(); ++i) {
      for (const auto input : training_.ops[i].inputs) last_read[input.index()] = i;
    }
    for (std::size_t i = 0; i < training_.ops.size(); ++i) {
      const auto& op = training_.ops[i];
      const std::size_t choices = in_place_choices(op.kind);
      for (std::size_t choice = 0; choice < choices; ++choice) {
        const TensorId input = op.inputs[choice];
        const auto& root = training_.tensor(storage[input.index()]);
        if (last_read[input.index()] != i || root.persistent || root.result || root.role == Role::input)
          continue;
        storage[op.outputs[0].index()] = storage[input.index()];
        if (op.phase == Phase::forward) training_.layers[op.layer.index()].in_place = true;
        break;
      }
    }
  }

  // How many of the op's first inputs its output may overwrite.
  static std::size_t in_place_choices(OpKind kind) {
    switch (kind) {
      case OpKind::relu:
      case OpKind::relu_backward:
      case OpKind::dropout:
      case OpKind::dropout_backward:
        return 1;
      case OpKind::add:
        return 2;
      default:
        return 0;
    }
  }

  const Graph& graph_;
  SgdAttributes optimizer_;
  TrainingGraph training_;
  Backward backward_;
  std::vector<TensorId> trained_of_;  // by forward tensor
  std::vector<TrainingOp> forward_ops_;
  std::vector<bool> classifier_output_ = std::vector<bool>(4, false);
  TensorId labels_;
};

}  // namespace

TrainingGraph differentiate(const Graph& graph, const SgdAttributes& optimizer) {
  return Differentiation(graph, optimizer).run();
}

}  // namespace vdnn
