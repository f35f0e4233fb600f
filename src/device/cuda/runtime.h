#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace vdnn::cuda {

// The calls of the CUDA runtime that vdnn's own host code makes, one to one, so that the code around them
// also runs where there is no GPU: tests put asynchronous queues on threads in their place. Zero is success;
// other results are the library's codes, which error_text() explains.
using Status = int;

// Handles of the library; null is none.
using Stream = struct StreamHandle*;
using Event = struct EventHandle*;

enum class CopyKind { to_device, to_host };

class Runtime {
 public:
  virtual ~Runtime() = default;

  // "NVIDIA H200, driver for CUDA 13.0".
  [[nodiscard]] virtual std::string description() const = 0;
  // "out of memory (cudaErrorMemoryAllocation)".
  [[nodiscard]] virtual std::string error_text(Status status) const = 0;
  // Forgets the last error that a call of this thread left behind, so that no later call reports it.
  virtual void clear_error() = 0;
  // The calls below act on the context's device in the calling thread.
  virtual Status use_device() = 0;

  virtual Status memory_info(std::size_t* free_bytes, std::size_t* total_bytes) = 0;
  virtual Status allocate(void** memory, std::size_t bytes) = 0;
  virtual Status release(void* memory) = 0;
  virtual Status allocate_pinned(void** memory, std::size_t bytes) = 0;
  virtual Status release_pinned(void* memory) = 0;

  // Streams do not synchronise with the default stream.
  virtual Status create_stream(Stream* stream) = 0;
  virtual Status destroy_stream(Stream stream) = 0;
  virtual Status synchronize_stream(Stream stream) = 0;

  virtual Status create_event(Event* event, bool timed) = 0;
  virtual Status destroy_event(Event event) = 0;
  virtual Status record_event(Event event, Stream stream) = 0;
  virtual Status wait_event(Stream stream, Event event) = 0;
  virtual Status synchronize_event(Event event) = 0;
  // Between two timed events that have completed.
  virtual Status elapsed_milliseconds(float* milliseconds, Event begin, Event end) = 0;

  virtual Status copy_async(void* to, const void* from, std::size_t bytes, CopyKind kind, Stream stream) = 0;
  virtual Status fill_async(void* memory, int byte, std::size_t bytes, Stream stream) = 0;

  // Stream memory operations on four aligned bytes of device memory: the stream writes the value once its
  // earlier work is done; or goes on only when the bytes, as a counter, have reached it.
  virtual Status write_value(Stream stream, void* address, std::uint32_t value) = 0;
  virtual Status wait_value(Stream stream, void* address, std::uint32_t value) = 0;
};

}  // namespace vdnn::cuda
