#include "device/cuda/toolkit/launch.cuh"
#include "device/cuda/toolkit/statistics.h"

namespace vdnn::cuda {
namespace {

struct UpdateChannel {
  RunningStatistics s;

  __device__ void operator()(std::int64_t channel) const {
    const double inverse = s.inverse_deviation[channel];
    // Rounding can leave less than nothing of a variance that is small beside epsilon; NaN passes through.
    const double difference = 1 / (inverse * inverse) - s.epsilon;
    const double variance = difference < 0 ? 0 : difference;
    s.running_mean[channel] = blend(s.running_mean[channel], s.mean[channel]);
    s.running_variance[channel] = blend(s.running_variance[channel], variance);
  }

  __device__ float blend(double running, double batch) const {
    return static_cast<float>((1 - s.momentum) * running + s.momentum * batch);
  }
};

}  // namespace

void update_running_statistics(const RunningStatistics& statistics, std::int64_t channels,
                               cudaStream_t stream) {
  launch_elements("update_running_statistics", UpdateChannel{statistics}, channels, stream);
}

}  // namespace vdnn::cuda
