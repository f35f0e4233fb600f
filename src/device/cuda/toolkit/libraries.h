#pragma once

#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <cudnn.h>

#include <string>
#include <string_view>

namespace vdnn::cuda {

// Throw DeviceError, "cudnnExecute: CUDNN_STATUS_...: ...", for anything but success; `call` is the name of
// the function. The library's last error is cleared, so that no later call reports it.
void check(cudaError_t status, std::string_view call);
void check(cudnnStatus_t status, std::string_view call);
void check(cublasStatus_t status, std::string_view call);

// Which algorithms may run.
struct Precision {
  bool tf32 = false;          // 10 bits of mantissa in products of float32
  bool deterministic = true;  // the same bits in every run
};

// " tf32", "", ...: what a signature needs so that different algorithms never share measured times.
std::string precision_text(const Precision& precision);

// Handles of cuDNN and cuBLASLt on the device that is current. Not thread-safe.
class Libraries {
 public:
  explicit Libraries(Precision precision);
  ~Libraries();
  Libraries(const Libraries&) = delete;
  Libraries& operator=(const Libraries&) = delete;

  [[nodiscard]] const Precision& precision() const { return precision_; }
  [[nodiscard]] cublasLtHandle_t cublas() const { return cublas_; }
  // Bound to no stream: for queries.
  [[nodiscard]] cudnnHandle_t cudnn() const { return cudnn_; }
  // Bound to the stream.
  cudnnHandle_t cudnn_on(cudaStream_t stream);

 private:
  Precision precision_;
  cublasLtHandle_t cublas_ = nullptr;
  cudnnHandle_t cudnn_ = nullptr;
  cudaStream_t stream_ = nullptr;
};

}  // namespace vdnn::cuda
