#pragma once

#include <cuda_runtime_api.h>

#include <functional>

namespace vdnn::testing {

struct GridIndex {
  unsigned x = 0;
};
// What CUDA calls so, of the thread that runs.
inline constinit thread_local GridIndex threadIdx;
inline constinit thread_local GridIndex blockIdx;
inline constinit thread_local GridIndex blockDim;
inline constinit thread_local GridIndex gridDim;

struct Grid {
  const void* kernel;  // whatever tells kernels apart
  unsigned blocks;
  unsigned threads;
  std::function<void()> code;  // of each thread
};

// Runs all threads: blocks on all processors, those of a block one after another, or in turns where they
// wait for each other.
void run_grid(const Grid& grid);
// The same on a stream.
void enqueue_grid(Grid grid, cudaStream_t stream);

// __syncthreads().
void meet_block();

}  // namespace vdnn::testing
