#include "device/cuda/toolkit/elements.h"
#include "device/cuda/toolkit/launch.cuh"

namespace vdnn::cuda {
namespace {

// Combines what the block's lanes have put into `values`; all lanes return values[0], and all are done
// reading when it returns.
template <class Combine>
__device__ double fold(double* values, int lane, Combine combine) {
  __syncthreads();
  for (int half = kLanes / 2; half > 0; half /= 2) {
    fold_lane(values, lane, half, combine);
    __syncthreads();
  }
  const double result = values[0];
  __syncthreads();
  return result;
}

// Blocks of kLanes threads, each a row at a time.
template <class T>
__global__ void __launch_bounds__(kLanes) softmax_rows(SoftmaxRows<T> rows, std::int64_t batch) {
  __shared__ double values[kLanes];
  const int lane = static_cast<int>(threadIdx.x);
  for (std::int64_t row = blockIdx.x; row < batch; row += gridDim.x) {
    values[lane] = rows.largest(row, lane);
    const T largest = static_cast<T>(fold(values, lane, Larger()));
    values[lane] = rows.sum(row, largest, lane);
    const double sum = fold(values, lane, Plus());
    rows.store_probabilities(row, largest, sum, lane);
    if (lane == 0) rows.store_loss(row, largest, sum);
  }
}

// One block of kLanes threads.
template <class T>
__global__ void __launch_bounds__(kLanes) mean_loss(MeanLoss<T> mean) {
  __shared__ double values[kLanes];
  const int lane = static_cast<int>(threadIdx.x);
  values[lane] = mean.sum(lane);
  const double sum = fold(values, lane, Plus());
  if (lane == 0) mean.store(sum);
}

}  // namespace

void softmax_cross_entropy(const SoftmaxRows<float>& rows, const MeanLoss<float>& mean, cudaStream_t stream) {
  if (mean.batch <= 0) return;
  launch("softmax_rows", softmax_rows<float>, mean.batch < kMostBlocks ? mean.batch : kMostBlocks, kLanes,
         stream, rows, mean.batch);
  launch("mean_loss", mean_loss<float>, 1, kLanes, stream, mean);
}

}  // namespace vdnn::cuda
