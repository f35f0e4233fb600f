#include "device/cuda/toolkit/libraries.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "device/cuda/toolkit/api.h"
#include "vdnn/error.h"

namespace vdnn::cuda {
namespace {

// What cuDNN says of this thread's last failure, on one line; empty where it says nothing.
std::string last_cudnn_text() {
  std::array<char, 1024> text{};
  api().cudnnGetLastErrorString(text.data(), text.size());
  std::string line = text.data();
  std::replace(line.begin(), line.end(), '\n', ' ');
  return line.substr(0, line.find_last_not_of(' ') + 1);
}

}  // namespace

void check(cudaError_t status, std::string_view call) {
  if (status == cudaSuccess) return;
  static_cast<void>(cudaGetLastError());
  throw DeviceError(fmt::format("{}: {}: {}", call, cudaGetErrorName(status), cudaGetErrorString(status)));
}

void check(cudnnStatus_t status, std::string_view call) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  const std::string reason = last_cudnn_text();
  static_cast<void>(cudaGetLastError());
  throw DeviceError(
      fmt::format("{}: {}{}{}", call, api().cudnnGetErrorString(status), reason.empty() ? "" : ": ", reason));
}

void check(cublasStatus_t status, std::string_view call) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  static_cast<void>(cudaGetLastError());
  throw DeviceError(fmt::format("{}: {}: {}", call, api().cublasLtGetStatusName(status),
                                api().cublasLtGetStatusString(status)));
}

std::string precision_text(const Precision& precision) {
  return fmt::format("{}{}", precision.tf32 ? " tf32" : "",
                     precision.deterministic ? "" : " nondeterministic");
}

Libraries::Libraries(Precision precision) : precision_(precision) {
  check(api().cublasLtCreate(&cublas_), "cublasLtCreate");
  const cudnnStatus_t status = api().cudnnCreate(&cudnn_);
  if (status != CUDNN_STATUS_SUCCESS) api().cublasLtDestroy(cublas_);
  check(status, "cudnnCreate");
}

Libraries::~Libraries() {
  api().cudnnDestroy(cudnn_);
  api().cublasLtDestroy(cublas_);
}

cudnnHandle_t Libraries::cudnn_on(cudaStream_t stream) {
  if (stream != stream_) {
    check(api().cudnnSetStream(cudnn_, stream), "cudnnSetStream");
    stream_ = stream;
  }
  return cudnn_;
}

}  // namespace vdnn::cuda
