#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace vdnn::cuda {

// Running statistics of batch normalisation, updated in place; each pointer is to a value per channel in
// device memory. The running variance takes the biased variance, 1 / inverse_deviation^2 - epsilon.
struct RunningStatistics {
  const float* mean = nullptr;
  const float* inverse_deviation = nullptr;  // 1 / sqrt(variance + epsilon), as cuDNN saves it
  float* running_mean = nullptr;
  float* running_variance = nullptr;
  double momentum = 0;  // share of the new batch
  double epsilon = 0;
};

// Enqueues on the stream. Throws DeviceError where that cannot be done.
void update_running_statistics(const RunningStatistics& statistics, std::int64_t channels,
                               cudaStream_t stream);

}  // namespace vdnn::cuda
