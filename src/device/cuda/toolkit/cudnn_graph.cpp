#include "device/cuda/toolkit/cudnn_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <string_view>
#include <utility>

#include "device/cuda/toolkit/api.h"
#include "vdnn/error.h"

namespace vdnn::cuda {
namespace {

// Names of the tensors in a graph and its variant packs.
constexpr std::int64_t kXId = 1;
constexpr std::int64_t kWeightId = 2;
constexpr std::int64_t kYId = 3;

// Buffers lie at multiples of 64 bytes; engines ask for no more than 16.
constexpr std::int64_t kTensorAlignmentBytes = 16;

// A plan takes milliseconds to make: enough of them to find the good ones, few enough to start soon.
constexpr std::size_t kMostPlans = 16;
constexpr int kTriesPerEngine = 4;

Descriptor make_descriptor(cudnnBackendDescriptorType_t type) {
  cudnnBackendDescriptor_t made = nullptr;
  check(api().cudnnBackendCreateDescriptor(type, &made), "cudnnBackendCreateDescriptor");
  return Descriptor(made);
}

void set(const Descriptor& descriptor, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
         std::int64_t count, const void* values) {
  const cudnnStatus_t status = api().cudnnBackendSetAttribute(descriptor.get(), name, type, count, values);
  // The text is made for failures alone: launches are frequent.
  if (status != CUDNN_STATUS_SUCCESS)
    check(status, fmt::format("cudnnBackendSetAttribute of attribute {}", static_cast<int>(name)));
}

template <class Value>
void set(const Descriptor& descriptor, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
         const std::vector<Value>& values) {
  set(descriptor, name, type, static_cast<std::int64_t>(values.size()), values.data());
}

template <class Value>
void set(const Descriptor& descriptor, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
         const Value& value) {
  set(descriptor, name, type, 1, &value);
}

void set(const Descriptor& descriptor, cudnnBackendAttributeName_t name, const Descriptor& value) {
  set<cudnnBackendDescriptor_t>(descriptor, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, value.get());
}

template <class Value>
Value get(const Descriptor& descriptor, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type) {
  Value value{};
  std::int64_t count = 0;
  check(api().cudnnBackendGetAttribute(descriptor.get(), name, type, 1, &count, &value),
        fmt::format("cudnnBackendGetAttribute of attribute {}", static_cast<int>(name)));
  return value;
}

// At most `most` values.
template <class Value>
std::vector<Value> get_all(const Descriptor& descriptor, cudnnBackendAttributeName_t name,
                           cudnnBackendAttributeType_t type, std::int64_t most) {
  std::vector<Value> values(static_cast<std::size_t>(most));
  std::int64_t count = 0;
  check(api().cudnnBackendGetAttribute(descriptor.get(), name, type, most, &count, values.data()),
        fmt::format("cudnnBackendGetAttribute of attribute {}", static_cast<int>(name)));
  values.resize(static_cast<std::size_t>(std::clamp<std::int64_t>(count, 0, most)));
  return values;
}

void finalize(const Descriptor& descriptor, std::string_view what) {
  const cudnnStatus_t status = api().cudnnBackendFinalize(descriptor.get());
  if (status != CUDNN_STATUS_SUCCESS) check(status, fmt::format("cudnnBackendFinalize of {}", what));
}

Descriptor make_tensor(const Layout& layout, std::int64_t id) {
  Descriptor tensor = make_descriptor(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  set(tensor, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, id);
  set(tensor, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
  set(tensor, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, kTensorAlignmentBytes);
  set(tensor, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, layout.shape.dims());
  set(tensor, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64,
      std::vector<std::int64_t>{layout.batch_stride(), layout.channel_stride(), layout.row_stride(),
                                layout.column_stride()});
  finalize(tensor, "a tensor of " + layout.shape.text());
  return tensor;
}

Descriptor make_geometry(const ConvolutionAttributes& a) {
  const auto pair = [](Extent2d extent) { return std::vector<std::int64_t>{extent.height, extent.width}; };
  Descriptor geometry = make_descriptor(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  set(geometry, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
  set(geometry, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, CUDNN_CROSS_CORRELATION);
  set(geometry, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, std::int64_t{2});
  set(geometry, CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, pair(a.dilation));
  set(geometry, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, pair(a.stride));
  set(geometry, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, pair(a.padding));
  set(geometry, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, pair(a.padding));
  finalize(geometry, "a convolution");
  return geometry;
}

// What cuDNN calls the parts of the operation of a pass.
struct OperationNames {
  cudnnBackendDescriptorType_t type;
  cudnnBackendAttributeName_t alpha;
  cudnnBackendAttributeName_t beta;
  cudnnBackendAttributeName_t geometry;
  cudnnBackendAttributeName_t x;
  cudnnBackendAttributeName_t weight;
  cudnnBackendAttributeName_t y;
};

OperationNames operation_names(ConvolutionPass pass) {
  switch (pass) {
    case ConvolutionPass::forward:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y};
    case ConvolutionPass::backward_data:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY};
    case ConvolutionPass::backward_weights:
      break;
  }
  return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY};
}

// The graph of one convolution, last, behind what it is made of.
std::vector<Descriptor> make_graph(cudnnHandle_t handle, const ConvolutionProblem& problem) {
  const OperationNames names = operation_names(problem.pass);
  Descriptor x = make_tensor(problem.x, kXId);
  Descriptor weight = make_tensor(problem.weight, kWeightId);
  Descriptor y = make_tensor(problem.y, kYId);
  Descriptor geometry = make_geometry(problem.attributes);
  Descriptor operation = make_descriptor(names.type);
  set(operation, names.alpha, CUDNN_TYPE_FLOAT, 1.0F);
  set(operation, names.beta, CUDNN_TYPE_FLOAT, 0.0F);
  set(operation, names.geometry, geometry);
  set(operation, names.x, x);
  set(operation, names.weight, weight);
  set(operation, names.y, y);
  finalize(operation, "an operation");
  Descriptor graph = make_descriptor(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  set(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, operation);
  set(graph, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, handle);
  finalize(graph, "a graph");
  std::vector<Descriptor> parts;
  for (auto* part : {&x, &weight, &y, &geometry, &operation, &graph}) parts.push_back(std::move(*part));
  return parts;
}

// Engine configurations in the order in which the heuristics like them.
std::vector<Descriptor> engine_configurations(const Descriptor& graph, cudnnBackendHeurMode_t mode) {
  const Descriptor heuristics = make_descriptor(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  set(heuristics, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
  set(heuristics, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, mode);
  finalize(heuristics, "heuristics");
  std::int64_t count = 0;
  check(api().cudnnBackendGetAttribute(heuristics.get(), CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                       CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, &count, nullptr),
        "cudnnBackendGetAttribute of heuristics");
  if (count <= 0) return {};
  // The call fills descriptors that the caller has made.
  std::vector<Descriptor> configurations;
  std::vector<cudnnBackendDescriptor_t> filled;
  for (std::int64_t i = 0; i < count; ++i) {
    configurations.push_back(make_descriptor(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR));
    filled.push_back(configurations.back().get());
  }
  std::int64_t found = 0;
  check(api().cudnnBackendGetAttribute(heuristics.get(), CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                       CUDNN_TYPE_BACKEND_DESCRIPTOR, count, &found, filled.data()),
        "cudnnBackendGetAttribute of heuristics");
  configurations.resize(static_cast<std::size_t>(std::clamp<std::int64_t>(found, 0, count)));
  return configurations;
}

struct Engine {
  std::int64_t number = 0;
  std::vector<cudnnBackendNumericalNote_t> notes;
  std::vector<cudnnBackendBehaviorNote_t> behaviour;

  [[nodiscard]] bool has(cudnnBackendNumericalNote_t note) const {
    return std::find(notes.begin(), notes.end(), note) != notes.end();
  }
  [[nodiscard]] bool compiles() const {
    return std::find(behaviour.begin(), behaviour.end(), CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION) !=
           behaviour.end();
  }
  // Inputs are converted down to less than TF32 has; tensor cores take float32 as TF32.
  [[nodiscard]] bool allowed(const Precision& precision) const {
    return !has(CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS) &&
           (precision.tf32 || !has(CUDNN_NUMERICAL_NOTE_TENSOR_CORE)) &&
           (!precision.deterministic || !has(CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC));
  }
  [[nodiscard]] std::string trait() const {
    if (has(CUDNN_NUMERICAL_NOTE_WINOGRAD)) return "winograd";
    return has(CUDNN_NUMERICAL_NOTE_FFT) ? "fft" : "";
  }
};

Engine engine_of(const Descriptor& configuration) {
  const Descriptor engine = make_descriptor(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  cudnnBackendDescriptor_t filled = engine.get();
  std::int64_t count = 0;
  check(api().cudnnBackendGetAttribute(configuration.get(), CUDNN_ATTR_ENGINECFG_ENGINE,
                                       CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count, &filled),
        "cudnnBackendGetAttribute of an engine");
  return {get<std::int64_t>(engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64),
          get_all<cudnnBackendNumericalNote_t>(engine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE,
                                               CUDNN_TYPE_NUMERICAL_NOTE, CUDNN_NUMERICAL_NOTE_TYPE_COUNT),
          get_all<cudnnBackendBehaviorNote_t>(engine, CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE,
                                              CUDNN_TYPE_BEHAVIOR_NOTE, CUDNN_BEHAVIOR_NOTE_TYPE_COUNT)};
}

// Collects plans of one problem. Engines that turn out not to support it are left out.
class PlanSearch {
 public:
  PlanSearch(Libraries& libraries, const ConvolutionProblem& problem)
      : libraries_(libraries),
        graph_(std::make_shared<const std::vector<Descriptor>>(make_graph(libraries.cudnn(), problem))) {}

  // Engines that are compiled when a plan is made take seconds of every start: only where there is no other.
  ConvolutionPlans run() {
    for (const bool compiled : {false, true}) {
      if (!result_.plans.empty()) break;
      search(CUDNN_HEUR_MODE_B, compiled);
      if (result_.plans.empty()) search(CUDNN_HEUR_MODE_A, compiled);
      search(CUDNN_HEUR_MODE_FALLBACK, compiled);
    }
    std::move(variants_.begin(), variants_.end(), std::back_inserter(result_.plans));
    return std::move(result_);
  }

 private:
  void search(cudnnBackendHeurMode_t mode, bool compiled) {
    std::vector<Descriptor> configurations;
    attempt([&] { configurations = engine_configurations(graph_->back(), mode); });
    std::size_t found = 0;
    std::map<std::int64_t, int> tries;  // by engine
    for (auto& configuration : configurations) {
      if (found == kMostPlans) return;
      attempt([&] {
        const Engine engine = engine_of(configuration);
        if (!engine.allowed(libraries_.precision()) || engine.compiles() != compiled) return;
        if (++tries[engine.number] <= kTriesPerEngine && add(mode, engine, std::move(configuration))) ++found;
      });
    }
  }

  // False for a plan that differs from another in nothing but settings. Such variants come last, and only
  // those of one list of configurations, in which none comes twice.
  bool add(cudnnBackendHeurMode_t mode, const Engine& engine, Descriptor configuration) {
    Descriptor plan = make_descriptor(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    set(plan, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, libraries_.cudnn());
    set(plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configuration);
    finalize(plan, fmt::format("a plan of engine {}", engine.number));
    const auto workspace_bytes =
        get<std::int64_t>(plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64);
    const auto same = [&](const ConvolutionPlan& other) {
      return other.engine() == engine.number && other.workspace_bytes() == workspace_bytes;
    };
    const bool known = std::any_of(result_.plans.begin(), result_.plans.end(), same);
    if (known && mode == CUDNN_HEUR_MODE_FALLBACK) return false;
    (known ? variants_ : result_.plans)
        .emplace_back(graph_, std::move(configuration), std::move(plan), engine.number, engine.trait(),
                      workspace_bytes);
    return !known;
  }

  template <class Work>
  void attempt(Work work) {
    try {
      work();
    } catch (const DeviceError& error) {
      result_.refusal = error.what();
    }
  }

  Libraries& libraries_;
  std::shared_ptr<const std::vector<Descriptor>> graph_;
  ConvolutionPlans result_;
  std::vector<ConvolutionPlan> variants_;
};

}  // namespace

void DestroyDescriptor::operator()(cudnnBackendDescriptor_t descriptor) const {
  api().cudnnBackendDestroyDescriptor(descriptor);
}

ConvolutionPlan::ConvolutionPlan(std::shared_ptr<const std::vector<Descriptor>> graph,
                                 Descriptor configuration, Descriptor plan, std::int64_t engine,
                                 std::string trait, std::int64_t workspace_bytes)
    : graph_(std::move(graph)),
      configuration_(std::move(configuration)),
      plan_(std::move(plan)),
      engine_(engine),
      trait_(std::move(trait)),
      workspace_bytes_(workspace_bytes) {}

void ConvolutionPlan::run(cudnnHandle_t handle, float* x, float* weight, float* y,
                          std::byte* workspace) const {
  const Descriptor pack = make_descriptor(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  set(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64,
      std::vector<std::int64_t>{kXId, kWeightId, kYId});
  set(pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, std::vector<void*>{x, weight, y});
  set<void*>(pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, workspace);
  finalize(pack, "a variant pack");
  check(api().cudnnBackendExecute(handle, plan_.get(), pack.get()), "cudnnBackendExecute");
}

ConvolutionPlans convolution_plans(Libraries& libraries, const ConvolutionProblem& problem) {
  try {
    return PlanSearch(libraries, problem).run();
  } catch (const DeviceError& error) {
    return {.plans = {}, .refusal = error.what()};
  }
}

}  // namespace vdnn::cuda
