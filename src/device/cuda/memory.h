#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "device/cuda/runtime.h"

namespace vdnn::cuda {

// One allocation of device memory.
class DeviceMemory {
 public:
  // Throws DeviceError that says how much is free.
  DeviceMemory(Runtime& runtime, std::int64_t bytes);
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] std::int64_t bytes() const { return bytes_; }

 private:
  Runtime& runtime_;
  std::byte* data_ = nullptr;
  std::int64_t bytes_ = 0;
};

// Host memory that the device copies to and from by itself; where it cannot be pinned, memory of the same
// size that it cannot, and why.
class HostMemory {
 public:
  // Throws StorageError where not even that can be had.
  HostMemory(Runtime& runtime, std::int64_t bytes);
  ~HostMemory();
  HostMemory(const HostMemory&) = delete;
  HostMemory& operator=(const HostMemory&) = delete;

  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] std::int64_t bytes() const { return bytes_; }
  [[nodiscard]] bool is_pinned() const { return why_not_.empty(); }
  // Of memory that is not pinned: the library's reason, and what to raise.
  [[nodiscard]] const std::string& why_not() const { return why_not_; }

 private:
  Runtime& runtime_;
  std::byte* data_ = nullptr;
  std::int64_t bytes_ = 0;
  std::string why_not_;
};

}  // namespace vdnn::cuda
