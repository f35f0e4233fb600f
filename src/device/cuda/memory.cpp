#include "device/cuda/memory.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <cerrno>
#include <cstring>

#include "device/cuda/call.h"
#include "vdnn/bytes.h"
#include "vdnn/error.h"

namespace vdnn::cuda {
namespace {

std::string locked_memory_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return "unlimited";
  return format_bytes(static_cast<std::int64_t>(limit.rlim_cur));
}

// Pages are there when they are touched: a machine without the memory says so here, not in a step.
std::byte* map_pages(std::int64_t bytes) {
  void* memory = mmap(nullptr, static_cast<std::size_t>(bytes), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (memory == MAP_FAILED) {
    throw StorageError(fmt::format("host memory: cannot take {}: {}; lower --host-memory",
                                   format_bytes(bytes), std::strerror(errno)));
  }
  return static_cast<std::byte*>(memory);
}

}  // namespace

DeviceMemory::DeviceMemory(Runtime& runtime, std::int64_t bytes) : runtime_(runtime), bytes_(bytes) {
  void* memory = nullptr;
  const Status status = runtime.allocate(&memory, static_cast<std::size_t>(bytes));
  if (status != 0) {
    const std::string text = runtime.error_text(status);
    runtime.clear_error();
    std::size_t free = 0;
    std::size_t total = 0;
    check(runtime, runtime.memory_info(&free, &total), "cudaMemGetInfo");
    throw DeviceError(fmt::format("cudaMalloc of {}: {}; {} of {} are free: lower --memory",
                                  format_bytes(bytes), text, format_bytes(static_cast<std::int64_t>(free)),
                                  format_bytes(static_cast<std::int64_t>(total))));
  }
  data_ = static_cast<std::byte*>(memory);
}

DeviceMemory::~DeviceMemory() {
  if (runtime_.release(data_) != 0) runtime_.clear_error();
}

HostMemory::HostMemory(Runtime& runtime, std::int64_t bytes) : runtime_(runtime), bytes_(bytes) {
  void* memory = nullptr;
  const Status status = runtime.allocate_pinned(&memory, static_cast<std::size_t>(bytes));
  if (status == 0) {
    data_ = static_cast<std::byte*>(memory);
    return;
  }
  why_not_ = fmt::format("cudaHostAlloc of {}: {}; the limit of locked memory is {} (ulimit -l)",
                         format_bytes(bytes), runtime.error_text(status), locked_memory_limit());
  runtime.clear_error();
  data_ = map_pages(bytes);
}

HostMemory::~HostMemory() {
  if (!is_pinned()) {
    munmap(data_, static_cast<std::size_t>(bytes_));
  } else if (runtime_.release_pinned(data_) != 0) {
    runtime_.clear_error();
  }
}

}  // namespace vdnn::cuda
