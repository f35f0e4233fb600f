#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/cuda/on_host/convolution_loops.h"
#include "support/cuda/on_host/described_gpu.h"
#include "support/cuda/on_host/norm_loops.h"
#include "support/cuda/on_host/stand_in_cuda.h"

namespace vdnn::testing {
namespace {

cuda::Api& real() {
  static cuda::Api functions;
  return functions;
}

struct Handle {
  cudaStream_t stream = nullptr;
};
Handle& of(cudnnHandle_t handle) {
  return *reinterpret_cast<Handle*>(handle);
}

// What has been said of a descriptor.
struct Said {
  cudnnBackendDescriptorType_t type;
  std::map<cudnnBackendAttributeName_t, std::vector<std::byte>> attributes;
  cudnnBackendDescriptor_t graph = nullptr;  // of an engine's configuration: what it was proposed for

  template <class Value>
  [[nodiscard]] std::vector<Value> all(cudnnBackendAttributeName_t name) const {
    const auto found = attributes.find(name);
    if (found == attributes.end()) misuse(fmt::format("attribute {} was never set", static_cast<int>(name)));
    std::vector<Value> values(found->second.size() / sizeof(Value));
    std::memcpy(values.data(), found->second.data(), values.size() * sizeof(Value));
    return values;
  }
  template <class Value>
  [[nodiscard]] Value one(cudnnBackendAttributeName_t name) const {
    const auto values = all<Value>(name);
    expect(values.size() == 1, "one value");
    return values.front();
  }
};

// Of all descriptors that live.
class Notes {
 public:
  void begin(cudnnBackendDescriptor_t descriptor, cudnnBackendDescriptorType_t type) {
    const std::lock_guard lock(mutex_);
    notes_[descriptor] = {.type = type, .attributes = {}};
  }
  [[nodiscard]] std::size_t count() {
    const std::lock_guard lock(mutex_);
    return notes_.size();
  }
  void end(cudnnBackendDescriptor_t descriptor) {
    const std::lock_guard lock(mutex_);
    notes_.erase(descriptor);
  }
  template <class Change>
  void change(cudnnBackendDescriptor_t descriptor, Change change) {
    const std::lock_guard lock(mutex_);
    change(known(descriptor));
  }
  [[nodiscard]] Said at(cudnnBackendDescriptor_t descriptor) {
    const std::lock_guard lock(mutex_);
    return known(descriptor);
  }

 private:
  Said& known(cudnnBackendDescriptor_t descriptor) {
    const auto found = notes_.find(descriptor);
    if (found == notes_.end()) misuse("a descriptor that does not exist");
    return found->second;
  }

  std::mutex mutex_;
  std::map<cudnnBackendDescriptor_t, Said> notes_;
};

Notes& notes() {
  static Notes all;
  return all;
}

cudnnBackendDescriptor_t described_gpu() {
  static const cudnnBackendDescriptor_t kDescriptor = [] {
    cudnnBackendDescriptor_t made = nullptr;
    expect(real().cudnnBackendCreateDescriptor(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, &made) ==
               CUDNN_STATUS_SUCCESS,
           "no descriptors of devices");
    const std::string_view text = kDescribedGpu;
    real().cudnnBackendSetAttribute(made, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
                                    static_cast<std::int64_t>(text.size()), text.data());
    if (real().cudnnBackendFinalize(made) != CUDNN_STATUS_SUCCESS) {
      char why[1024] = {};
      real().cudnnGetLastErrorString(why, sizeof why);
      misuse(fmt::format("the described GPU is not understood: {}", why));
    }
    return made;
  }();
  return kDescriptor;
}

cudnnStatus_t set_described_gpu(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name) {
  const cudnnBackendDescriptor_t gpu = described_gpu();
  return real().cudnnBackendSetAttribute(descriptor, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &gpu);
}

std::size_t value_bytes(cudnnBackendAttributeType_t type) {
  switch (type) {
    case CUDNN_TYPE_INT64:
    case CUDNN_TYPE_BACKEND_DESCRIPTOR:
    case CUDNN_TYPE_VOID_PTR:
    case CUDNN_TYPE_HANDLE:
      return 8;
    case CUDNN_TYPE_FLOAT:
    case CUDNN_TYPE_DATA_TYPE:
    case CUDNN_TYPE_CONVOLUTION_MODE:
    case CUDNN_TYPE_HEUR_MODE:
      return 4;
    default:
      misuse(fmt::format("attributes of type {} are new here", static_cast<int>(type)));
  }
}

cudnnStatus_t create_descriptor(cudnnBackendDescriptorType_t type, cudnnBackendDescriptor_t* descriptor) {
  const cudnnStatus_t status = real().cudnnBackendCreateDescriptor(type, descriptor);
  if (status == CUDNN_STATUS_SUCCESS) notes().begin(*descriptor, type);
  return status;
}

cudnnStatus_t destroy_descriptor(cudnnBackendDescriptor_t descriptor) {
  notes().end(descriptor);
  return real().cudnnBackendDestroyDescriptor(descriptor);
}

// Where a handle says which GPU is meant, the described one is.
cudnnStatus_t set_attribute(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
                            cudnnBackendAttributeType_t type, std::int64_t count, const void* values) {
  if (name == CUDNN_ATTR_OPERATIONGRAPH_HANDLE) return CUDNN_STATUS_SUCCESS;
  if (name == CUDNN_ATTR_EXECUTION_PLAN_HANDLE)
    return set_described_gpu(descriptor, CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP);
  notes().change(descriptor, [&](Said& said) {
    const auto* const bytes = static_cast<const std::byte*>(values);
    said.attributes[name].assign(bytes, bytes + static_cast<std::size_t>(count) * value_bytes(type));
  });
  return real().cudnnBackendSetAttribute(descriptor, name, type, count, values);
}

cudnnStatus_t get_attribute(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
                            cudnnBackendAttributeType_t type, std::int64_t most, std::int64_t* count,
                            void* values) {
  const cudnnStatus_t status = real().cudnnBackendGetAttribute(descriptor, name, type, most, count, values);
  if (name != CUDNN_ATTR_ENGINEHEUR_RESULTS || values == nullptr || status != CUDNN_STATUS_SUCCESS)
    return status;
  const auto graph =
      notes().at(descriptor).one<cudnnBackendDescriptor_t>(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
  auto* const configurations = static_cast<cudnnBackendDescriptor_t*>(values);
  for (const auto configuration : std::span(configurations, static_cast<std::size_t>(std::min(most, *count))))
    notes().change(configuration, [&](Said& said) { said.graph = graph; });
  return status;
}

cudnnStatus_t finalize(cudnnBackendDescriptor_t descriptor) {
  if (notes().at(descriptor).type == CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR)
    set_described_gpu(descriptor, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP);
  return real().cudnnBackendFinalize(descriptor);
}

// Attributes of a convolution and its two gradients.
struct Names {
  ConvolutionResult result;
  cudnnBackendAttributeName_t geometry, x, weight, y, alpha, beta;
};

Names names_of(cudnnBackendDescriptorType_t type) {
  switch (type) {
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR:
      return {ConvolutionResult::y,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA};
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR:
      return {ConvolutionResult::x,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA};
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR:
      return {ConvolutionResult::weight,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA};
    default:
      misuse(fmt::format("operations of type {} are new here", static_cast<int>(type)));
  }
}

// Memory by the number of the tensor that lies there.
using Pointers = std::map<std::int64_t, float*>;

Pointers pointers_of(const Said& pack) {
  const auto ids = pack.all<std::int64_t>(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
  const auto values = pack.all<float*>(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
  expect(ids.size() == values.size(), "a pointer for each tensor");
  Pointers pointers;
  for (std::size_t i = 0; i < ids.size(); ++i) pointers[ids[i]] = values[i];
  return pointers;
}

StridedTensor tensor(cudnnBackendDescriptor_t descriptor, const Pointers& pointers) {
  const Said said = notes().at(descriptor);
  expect(said.one<cudnnDataType_t>(CUDNN_ATTR_TENSOR_DATA_TYPE) == CUDNN_DATA_FLOAT, "float32 alone");
  const auto found = pointers.find(said.one<std::int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID));
  expect(found != pointers.end() && found->second != nullptr, "a tensor without memory");
  const auto alignment =
      static_cast<std::uintptr_t>(said.one<std::int64_t>(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT));
  expect(reinterpret_cast<std::uintptr_t>(found->second) % alignment == 0,
         "a tensor less aligned than was said");
  return {said.all<std::int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS),
          said.all<std::int64_t>(CUDNN_ATTR_TENSOR_STRIDES), found->second};
}

ConvolutionLoops loops_of(const Said& operation, const Pointers& pointers) {
  const Names names = names_of(operation.type);
  expect(operation.one<float>(names.alpha) == 1 && operation.one<float>(names.beta) == 0,
         "plain convolutions alone");
  const auto of = [&](cudnnBackendAttributeName_t name) {
    return tensor(operation.one<cudnnBackendDescriptor_t>(name), pointers);
  };
  const Said geometry = notes().at(operation.one<cudnnBackendDescriptor_t>(names.geometry));
  const auto padding = geometry.all<std::int64_t>(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS);
  expect(padding == geometry.all<std::int64_t>(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS),
         "padding on both sides");
  expect(geometry.one<cudnnConvolutionMode_t>(CUDNN_ATTR_CONVOLUTION_CONV_MODE) == CUDNN_CROSS_CORRELATION,
         "filters that are not flipped");
  return {.result = names.result,
          .x = of(names.x),
          .weight = of(names.weight),
          .y = of(names.y),
          .padding = padding,
          .strides = geometry.all<std::int64_t>(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES),
          .dilations = geometry.all<std::int64_t>(CUDNN_ATTR_CONVOLUTION_DILATIONS)};
}

std::size_t workspace_bytes(cudnnBackendDescriptor_t plan) {
  std::int64_t bytes = 0;
  std::int64_t count = 0;
  expect(real().cudnnBackendGetAttribute(plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1,
                                         &count, &bytes) == CUDNN_STATUS_SUCCESS,
         "a plan without workspace size");
  return static_cast<std::size_t>(bytes);
}

cudnnStatus_t execute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan, cudnnBackendDescriptor_t pack) {
  const auto configuration =
      notes().at(plan).one<cudnnBackendDescriptor_t>(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
  const Said graph = notes().at(notes().at(configuration).graph);
  const Said operation = notes().at(graph.one<cudnnBackendDescriptor_t>(CUDNN_ATTR_OPERATIONGRAPH_OPS));
  const Said arguments = notes().at(pack);
  const ConvolutionLoops loops = loops_of(operation, pointers_of(arguments));
  auto* const workspace = arguments.one<std::byte*>(CUDNN_ATTR_VARIANT_PACK_WORKSPACE);
  const std::size_t bytes = workspace_bytes(plan);
  expect(bytes == 0 || (workspace != nullptr && reinterpret_cast<std::uintptr_t>(workspace) % 16 == 0),
         "no workspace, or one that is not aligned");
  enqueue(of(handle).stream, [=] {
    if (bytes > 0) std::memset(workspace, 0xff, bytes);
    loops.run();
  });
  return CUDNN_STATUS_SUCCESS;
}

// Tensors of the interface that is no graph.
std::map<cudnnTensorDescriptor_t, NormShape>& norm_shapes() {
  static std::map<cudnnTensorDescriptor_t, NormShape> all;
  return all;
}

cudnnStatus_t set_tensor(cudnnTensorDescriptor_t tensor, cudnnTensorFormat_t format, cudnnDataType_t type,
                         int n, int c, int h, int w) {
  norm_shapes()[tensor] = {
      .batch = n, .channels = c, .plane = std::int64_t{h} * w, .channels_last = format == CUDNN_TENSOR_NHWC};
  return real().cudnnSetTensor4dDescriptor(tensor, format, type, n, c, h, w);
}

cudnnStatus_t norm_forward(cudnnHandle_t handle, cudnnBatchNormMode_t, const void* alpha, const void* beta,
                           cudnnTensorDescriptor_t x_tensor, const void* x, cudnnTensorDescriptor_t y_tensor,
                           void* y, cudnnTensorDescriptor_t, const void* scale, const void* shift, double,
                           void* running_mean, void* running_variance, double epsilon, void* mean,
                           void* inverse_deviation) {
  expect(*static_cast<const float*>(alpha) == 1 && *static_cast<const float*>(beta) == 0 &&
             x_tensor == y_tensor && running_mean == nullptr && running_variance == nullptr,
         "plain norms without running statistics alone");
  const NormForward work{norm_shapes().at(x_tensor),       epsilon,
                         static_cast<const float*>(x),     static_cast<const float*>(scale),
                         static_cast<const float*>(shift), static_cast<float*>(y),
                         static_cast<float*>(mean),        static_cast<float*>(inverse_deviation)};
  enqueue(of(handle).stream, [=] { work.run(); });
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t norm_backward(cudnnHandle_t handle, cudnnBatchNormMode_t, const void* alpha, const void* beta,
                            const void* channel_alpha, const void* channel_beta,
                            cudnnTensorDescriptor_t x_tensor, const void* x,
                            cudnnTensorDescriptor_t dy_tensor, const void* dy,
                            cudnnTensorDescriptor_t dx_tensor, void* dx, cudnnTensorDescriptor_t,
                            const void* scale, void* dscale, void* dshift, double, const void* mean,
                            const void* inverse_deviation) {
  for (const void* one : {alpha, channel_alpha}) expect(*static_cast<const float*>(one) == 1, "plain norms");
  for (const void* zero : {beta, channel_beta}) expect(*static_cast<const float*>(zero) == 0, "plain norms");
  expect(x_tensor == dy_tensor && x_tensor == dx_tensor, "maps that lie alike");
  const NormBackward work{norm_shapes().at(x_tensor),      static_cast<const float*>(x),
                          static_cast<const float*>(dy),   static_cast<const float*>(scale),
                          static_cast<const float*>(mean), static_cast<const float*>(inverse_deviation),
                          static_cast<float*>(dx),         static_cast<float*>(dscale),
                          static_cast<float*>(dshift)};
  enqueue(of(handle).stream, [=] { work.run(); });
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace

std::size_t descriptors_in_use() {
  return notes().count();
}

void stand_in_for_cudnn(cuda::Api& api) {
  real() = api;
  api.cudnnCreate = [](cudnnHandle_t* handle) {
    *handle = reinterpret_cast<cudnnHandle_t>(new Handle);
    return CUDNN_STATUS_SUCCESS;
  };
  api.cudnnDestroy = [](cudnnHandle_t handle) {
    delete &of(handle);
    return CUDNN_STATUS_SUCCESS;
  };
  api.cudnnSetStream = [](cudnnHandle_t handle, cudaStream_t stream) {
    of(handle).stream = stream;
    return CUDNN_STATUS_SUCCESS;
  };
  api.cudnnBackendCreateDescriptor = create_descriptor;
  api.cudnnBackendDestroyDescriptor = destroy_descriptor;
  api.cudnnBackendSetAttribute = set_attribute;
  api.cudnnBackendGetAttribute = get_attribute;
  api.cudnnBackendFinalize = finalize;
  api.cudnnBackendExecute = execute;
  api.cudnnSetTensor4dDescriptor = set_tensor;
  api.cudnnBatchNormalizationForwardTraining = norm_forward;
  api.cudnnBatchNormalizationBackward = norm_backward;
}

}  // namespace vdnn::testing
