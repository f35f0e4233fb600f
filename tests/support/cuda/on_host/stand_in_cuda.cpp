#include "support/cuda/on_host/stand_in_cuda.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>

#include "device/cuda/toolkit/libraries.h"
#include "device/cuda/toolkit/runtime.h"
#include "support/cuda/on_host/kernel_grid.h"
#include "vdnn/error.h"

namespace vdnn::testing {

const std::shared_ptr<StandInRuntime>& stand_in_runtime() {
  static const auto kRuntime = [] {
    auto made = std::make_shared<StandInRuntime>();
    made->set_free_bytes(std::size_t{8} << 30);
    return made;
  }();
  return kRuntime;
}

void misuse(const std::string& what) {
  std::fprintf(stderr, "stand-in for a GPU: %s\n", what.c_str());
  std::abort();
}

void enqueue(cudaStream_t stream, std::function<void()> work) {
  cuda::check(static_cast<cudaError_t>(
                  stand_in_runtime()->enqueue(reinterpret_cast<cuda::Stream>(stream), std::move(work))),
              "cudaLaunchKernel");
}

void enqueue_grid(Grid grid, cudaStream_t stream) {
  enqueue(stream, [grid = std::move(grid)] { run_grid(grid); });
}

}  // namespace vdnn::testing

namespace vdnn::cuda {

std::shared_ptr<Runtime> open_runtime(int device) {
  if (device != 0) throw DeviceError(fmt::format("no device cuda:{}: there is 1", device));
  return testing::stand_in_runtime();
}

const Api& api() {
  static const Api kWithStandIns = [] {
    Api made = load_api();
    testing::stand_in_for_cudnn(made);
    testing::stand_in_for_cublas(made);
    testing::make_failable(made);
    return made;
  }();
  return kWithStandIns;
}

}  // namespace vdnn::cuda

// The functions of the CUDA runtime that are called past the interface.
extern "C" {

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind,
                            cudaStream_t stream) {
  return static_cast<cudaError_t>(vdnn::testing::stand_in_runtime()->copy_async(
      to, from, bytes, vdnn::cuda::CopyKind::to_device, reinterpret_cast<vdnn::cuda::Stream>(stream)));
}

cudaError_t cudaGetLastError() {
  vdnn::testing::stand_in_runtime()->clear_error();
  return cudaSuccess;
}

const char* cudaGetErrorName(cudaError_t) {
  return "made to fail";
}

const char* cudaGetErrorString(cudaError_t) {
  return "999";
}

}  // extern "C"
