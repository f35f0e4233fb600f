#include <algorithm>

#include "device/cuda/toolkit/bias.h"
#include "device/cuda/toolkit/launch.cuh"

namespace vdnn::cuda {
namespace {

constexpr unsigned kLanes = 32;
constexpr unsigned kWarps = kBlockThreads / kLanes;
// Values in a row that a warp adds to.
constexpr std::int64_t kChunkValues = 1024;
// Sums of gradients are cut into parts until there are so many blocks, of no fewer rows or planes than this.
constexpr std::int64_t kWantedBlocks = 1024;
constexpr std::int64_t kLeastRows = 256;
constexpr std::int64_t kLeastPlanes = 8;
// So many values are added up in single precision before they join a sum in double precision.
constexpr std::int64_t kRunValues = 64;

// Value [o][c][i] of a tensor lies at (o * channels + c) * inner + i.
struct Extents {
  std::int64_t outer;
  std::int64_t channels;
  std::int64_t inner;
};

Extents extents(const Layout& layout) {
  const std::int64_t channels = layout.shape[1];
  const std::int64_t values = layout.values();
  const bool channels_innermost = layout.shape.rank() == 2 || layout.channels_last;
  const std::int64_t inner = channels_innermost ? 1 : layout.shape[2] * layout.shape[3];
  return {values / channels / inner, channels, inner};
}

std::int64_t divide_up(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

// The launch's warps take the chunks of all planes in turn.
__global__ void __launch_bounds__(kBlockThreads)
    add_to_planes(float* y, const float* bias, Extents e, std::int64_t chunks_per_plane) {
  const unsigned lane = threadIdx.x % kLanes;
  const std::int64_t chunks = e.outer * e.channels * chunks_per_plane;
  const std::int64_t step = std::int64_t{gridDim.x} * kWarps;
  for (std::int64_t chunk = std::int64_t{blockIdx.x} * kWarps + threadIdx.x / kLanes; chunk < chunks;
       chunk += step) {
    const std::int64_t plane = chunk / chunks_per_plane;
    const std::int64_t begin = chunk % chunks_per_plane * kChunkValues;
    const std::int64_t end = begin + kChunkValues < e.inner ? begin + kChunkValues : e.inner;
    const float value = bias[plane % e.channels];
    float* values = y + plane * e.inner;
#pragma unroll 4
    for (std::int64_t i = begin + lane; i < end; i += kLanes) values[i] += value;
  }
}

// The same where a value per channel lies side by side.
__global__ void __launch_bounds__(kBlockThreads) add_to_rows(float* y, const float* bias, Extents e) {
  const unsigned lane = threadIdx.x % kLanes;
  const std::int64_t count = e.outer * e.channels;
  const std::int64_t step = std::int64_t{gridDim.x} * kWarps * kChunkValues;
  const std::int64_t channel_step = kLanes % e.channels;
  for (std::int64_t begin = (std::int64_t{blockIdx.x} * kWarps + threadIdx.x / kLanes) * kChunkValues;
       begin < count; begin += step) {
    const std::int64_t end = begin + kChunkValues < count ? begin + kChunkValues : count;
    std::int64_t channel = (begin + lane) % e.channels;
#pragma unroll 4
    for (std::int64_t i = begin + lane; i < end; i += kLanes) {
      y[i] += bias[channel];
      channel += channel_step;
      if (channel >= e.channels) channel -= e.channels;
    }
  }
}

// A block per channel and part of the planes: sums[part][channel].
__global__ void __launch_bounds__(kBlockThreads)
    sum_planes(float* sums, const float* dy, Extents e, std::int64_t parts) {
  __shared__ double totals[kBlockThreads];
  const std::int64_t channel = blockIdx.x % e.channels;
  const std::int64_t part = blockIdx.x / e.channels;
  const std::int64_t last = e.outer * (part + 1) / parts;
  double total = 0;
  for (std::int64_t plane = e.outer * part / parts + threadIdx.x / kLanes; plane < last; plane += kWarps) {
    const float* values = dy + (plane * e.channels + channel) * e.inner;
    for (std::int64_t run = threadIdx.x % kLanes; run < e.inner; run += kLanes * kRunValues) {
      const std::int64_t run_end = run + kLanes * kRunValues < e.inner ? run + kLanes * kRunValues : e.inner;
      float sum = 0;
#pragma unroll 8
      for (std::int64_t i = run; i < run_end; i += kLanes) sum += values[i];
      total += sum;
    }
  }
  totals[threadIdx.x] = total;
  __syncthreads();
  for (unsigned half = kBlockThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) totals[threadIdx.x] += totals[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) sums[part * e.channels + channel] = static_cast<float>(totals[0]);
}

// A block per 32 channels and part of the rows, for channels that lie side by side.
__global__ void __launch_bounds__(kBlockThreads)
    sum_rows(float* sums, const float* dy, Extents e, std::int64_t parts) {
  __shared__ double totals[kWarps][kLanes];
  const unsigned lane = threadIdx.x % kLanes;
  const unsigned warp = threadIdx.x / kLanes;
  const std::int64_t channel = std::int64_t{blockIdx.x / static_cast<unsigned>(parts)} * kLanes + lane;
  const std::int64_t part = blockIdx.x % static_cast<unsigned>(parts);
  const std::int64_t last = e.outer * (part + 1) / parts;
  double total = 0;
  if (channel < e.channels) {
    for (std::int64_t run = e.outer * part / parts + warp; run < last; run += kWarps * kRunValues) {
      const std::int64_t run_end = run + kWarps * kRunValues < last ? run + kWarps * kRunValues : last;
      float sum = 0;
#pragma unroll 8
      for (std::int64_t row = run; row < run_end; row += kWarps) sum += dy[row * e.channels + channel];
      total += sum;
    }
  }
  totals[warp][lane] = total;
  __syncthreads();
  if (warp != 0 || channel >= e.channels) return;
  for (unsigned i = 1; i < kWarps; ++i) total += totals[i][lane];
  sums[part * e.channels + channel] = static_cast<float>(total);
}

// A thread per channel.
__global__ void __launch_bounds__(kBlockThreads)
    sum_parts(float* dbias, const float* sums, std::int64_t channels, std::int64_t parts) {
  const std::int64_t channel = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (channel >= channels) return;
  double total = 0;
  for (std::int64_t part = 0; part < parts; ++part) total += sums[part * channels + channel];
  dbias[channel] = static_cast<float>(total);
}

}  // namespace

void add_bias(float* y, const float* bias, const Layout& y_layout, cudaStream_t stream) {
  const Extents e = extents(y_layout);
  const auto blocks = [](std::int64_t chunks) { return std::min(divide_up(chunks, kWarps), kMostBlocks); };
  if (e.inner == 1) {
    launch("add_bias", add_to_rows, blocks(divide_up(e.outer * e.channels, kChunkValues)), kBlockThreads,
           stream, y, bias, e);
    return;
  }
  const std::int64_t chunks_per_plane = divide_up(e.inner, kChunkValues);
  launch("add_bias", add_to_planes, blocks(e.outer * e.channels * chunks_per_plane), kBlockThreads, stream, y,
         bias, e, chunks_per_plane);
}

void sum_bias_gradient(float* dbias, const float* dy, const Layout& dy_layout, const Scratch& scratch,
                       cudaStream_t stream) {
  const Extents e = extents(dy_layout);
  const bool rows = e.inner == 1;
  const std::int64_t columns = rows ? divide_up(e.channels, kLanes) : e.channels;
  const std::int64_t useful =
      std::min(divide_up(kWantedBlocks, columns), e.outer / (rows ? kLeastRows : kLeastPlanes));
  const std::int64_t parts = std::max<std::int64_t>(1, std::min(useful, scratch.count / e.channels));
  float* sums = parts > 1 ? scratch.values : dbias;
  launch("sum_bias_gradient", rows ? sum_rows : sum_planes, columns * parts, kBlockThreads, stream, sums, dy,
         e, parts);
  if (parts == 1) return;
  launch("sum_bias_gradient", sum_parts, divide_up(e.channels, kBlockThreads), kBlockThreads, stream, dbias,
         sums, e.channels, parts);
}

}  // namespace vdnn::cuda
