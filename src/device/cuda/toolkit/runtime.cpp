#include "device/cuda/toolkit/runtime.h"

#include <cuda.h>
#include <fmt/format.h>

#include "device/cuda/toolkit/libraries.h"
#include "vdnn/error.h"

namespace vdnn::cuda {
namespace {

// vdnn does not link the driver, so that it starts on machines without one.
template <class Function>
Function driver_function(const char* name) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
#if CUDART_VERSION >= 12050
  check(cudaGetDriverEntryPointByVersion(name, &function, 12000, cudaEnableDefault, &found), name);
#else
  check(cudaGetDriverEntryPoint(name, &function, cudaEnableDefault, &found), name);
#endif
  if (found != cudaDriverEntryPointSuccess || function == nullptr)
    throw DeviceError(fmt::format("the CUDA driver has no {}: it needs to be of CUDA 12 or later", name));
  return reinterpret_cast<Function>(function);
}

std::string describe(int device) {
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, device), "cudaGetDeviceProperties");
  int driver = 0;
  check(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
  return fmt::format("{}, driver for CUDA {}.{}", properties.name, driver / 1000, driver % 1000 / 10);
}

cudaEvent_t native(Event event) {
  return reinterpret_cast<cudaEvent_t>(event);
}

// Results of the driver's calls, as codes of their own.
constexpr Status kDriverError = 100'000;

class CudaRuntime : public Runtime {
 public:
  explicit CudaRuntime(int device) : device_(device) {
    int count = 0;
    if (const cudaError_t status = cudaGetDeviceCount(&count); status != cudaSuccess) {
      static_cast<void>(cudaGetLastError());
      throw DeviceError(fmt::format("device cuda needs an NVIDIA GPU and a driver for CUDA {}: {}",
                                    CUDART_VERSION / 1000, cudaGetErrorString(status)));
    }
    if (device >= count) throw DeviceError(fmt::format("no device cuda:{}: there are {}", device, count));
    check(cudaSetDevice(device), "cudaSetDevice");
    check(cudaFree(nullptr), "cudaFree");  // makes the context, before anybody asks what is free
    description_ = describe(device);
    write_value_ = driver_function<decltype(&cuStreamWriteValue32)>("cuStreamWriteValue32");
    wait_value_ = driver_function<decltype(&cuStreamWaitValue32)>("cuStreamWaitValue32");
  }

  [[nodiscard]] std::string description() const override { return description_; }
  [[nodiscard]] std::string error_text(Status status) const override {
    if (status >= kDriverError) return fmt::format("CUDA driver error {}", status - kDriverError);
    const auto error = static_cast<cudaError_t>(status);
    return fmt::format("{} ({})", cudaGetErrorString(error), cudaGetErrorName(error));
  }
  void clear_error() override { static_cast<void>(cudaGetLastError()); }
  Status use_device() override { return cudaSetDevice(device_); }

  Status memory_info(std::size_t* free_bytes, std::size_t* total_bytes) override {
    return cudaMemGetInfo(free_bytes, total_bytes);
  }
  Status allocate(void** memory, std::size_t bytes) override { return cudaMalloc(memory, bytes); }
  Status release(void* memory) override { return cudaFree(memory); }
  Status allocate_pinned(void** memory, std::size_t bytes) override {
    return cudaHostAlloc(memory, bytes, cudaHostAllocPortable);
  }
  Status release_pinned(void* memory) override { return cudaFreeHost(memory); }

  Status create_stream(Stream* stream) override {
    return cudaStreamCreateWithFlags(reinterpret_cast<cudaStream_t*>(stream), cudaStreamNonBlocking);
  }
  Status destroy_stream(Stream stream) override { return cudaStreamDestroy(cuda::native(stream)); }
  Status synchronize_stream(Stream stream) override { return cudaStreamSynchronize(cuda::native(stream)); }

  Status create_event(Event* event, bool timed) override {
    return cudaEventCreateWithFlags(reinterpret_cast<cudaEvent_t*>(event),
                                    timed ? cudaEventDefault : cudaEventDisableTiming);
  }
  Status destroy_event(Event event) override { return cudaEventDestroy(native(event)); }
  Status record_event(Event event, Stream stream) override {
    return cudaEventRecord(native(event), cuda::native(stream));
  }
  Status wait_event(Stream stream, Event event) override {
    return cudaStreamWaitEvent(cuda::native(stream), native(event), 0);
  }
  Status synchronize_event(Event event) override { return cudaEventSynchronize(native(event)); }
  Status elapsed_milliseconds(float* milliseconds, Event begin, Event end) override {
    return cudaEventElapsedTime(milliseconds, native(begin), native(end));
  }

  Status copy_async(void* to, const void* from, std::size_t bytes, CopyKind kind, Stream stream) override {
    return cudaMemcpyAsync(to, from, bytes,
                           kind == CopyKind::to_device ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost,
                           cuda::native(stream));
  }
  Status fill_async(void* memory, int byte, std::size_t bytes, Stream stream) override {
    return cudaMemsetAsync(memory, byte, bytes, cuda::native(stream));
  }

  Status write_value(Stream stream, void* address, std::uint32_t value) override {
    return of_driver(write_value_(cuda::native(stream), reinterpret_cast<CUdeviceptr>(address), value,
                                  CU_STREAM_WRITE_VALUE_DEFAULT));
  }
  Status wait_value(Stream stream, void* address, std::uint32_t value) override {
    return of_driver(wait_value_(cuda::native(stream), reinterpret_cast<CUdeviceptr>(address), value,
                                 CU_STREAM_WAIT_VALUE_GEQ));
  }

 private:
  static Status of_driver(CUresult result) {
    return result == CUDA_SUCCESS ? 0 : kDriverError + static_cast<Status>(result);
  }

  int device_;
  std::string description_;
  decltype(&cuStreamWriteValue32) write_value_ = nullptr;
  decltype(&cuStreamWaitValue32) wait_value_ = nullptr;
};

}  // namespace

std::shared_ptr<Runtime> open_runtime(int device) {
  return std::make_shared<CudaRuntime>(device);
}

}  // namespace vdnn::cuda
