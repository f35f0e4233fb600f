#pragma once

#include <cublasLt.h>
#include <cudnn.h>

#define VDNN_CUDNN_FUNCTIONS(FUNCTION)             \
  FUNCTION(cudnnBackendCreateDescriptor)           \
  FUNCTION(cudnnBackendDestroyDescriptor)          \
  FUNCTION(cudnnBackendExecute)                    \
  FUNCTION(cudnnBackendFinalize)                   \
  FUNCTION(cudnnBackendGetAttribute)               \
  FUNCTION(cudnnBackendSetAttribute)               \
  FUNCTION(cudnnBatchNormalizationBackward)        \
  FUNCTION(cudnnBatchNormalizationForwardTraining) \
  FUNCTION(cudnnCreate)                            \
  FUNCTION(cudnnCreateTensorDescriptor)            \
  FUNCTION(cudnnDeriveBNTensorDescriptor)          \
  FUNCTION(cudnnDestroy)                           \
  FUNCTION(cudnnDestroyTensorDescriptor)           \
  FUNCTION(cudnnGetErrorString)                    \
  FUNCTION(cudnnGetLastErrorString)                \
  FUNCTION(cudnnGetVersion)                        \
  FUNCTION(cudnnSetStream)                         \
  FUNCTION(cudnnSetTensor4dDescriptor)

// The names with _internal are what the header's own inline functions call.
#define VDNN_CUBLAS_FUNCTIONS(FUNCTION)           \
  FUNCTION(cublasLtCreate)                        \
  FUNCTION(cublasLtDestroy)                       \
  FUNCTION(cublasLtGetStatusName)                 \
  FUNCTION(cublasLtGetStatusString)               \
  FUNCTION(cublasLtMatmul)                        \
  FUNCTION(cublasLtMatmulAlgoConfigGetAttribute)  \
  FUNCTION(cublasLtMatmulAlgoGetHeuristic)        \
  FUNCTION(cublasLtMatmulDescInit_internal)       \
  FUNCTION(cublasLtMatmulDescSetAttribute)        \
  FUNCTION(cublasLtMatmulPreferenceInit_internal) \
  FUNCTION(cublasLtMatmulPreferenceSetAttribute)  \
  FUNCTION(cublasLtMatrixLayoutInit_internal)

namespace vdnn::cuda {

// What vdnn calls of cuDNN and cuBLASLt, by the libraries' own names.
struct Api {
#define VDNN_MEMBER(name) decltype(&::name) name = nullptr;  // NOLINT(bugprone-macro-parentheses)
  VDNN_CUDNN_FUNCTIONS(VDNN_MEMBER)
  VDNN_CUBLAS_FUNCTIONS(VDNN_MEMBER)
#undef VDNN_MEMBER
};

// Opens both libraries, which stay open. Throws DeviceError that names the file and what would help.
Api load_api();

// The functions; the first call, when a GPU is opened, opens the libraries: they take hundreds of megabytes,
// which programs without a GPU do not carry. Throws as load_api() until it succeeds. Thread-safe.
const Api& api();

}  // namespace vdnn::cuda
