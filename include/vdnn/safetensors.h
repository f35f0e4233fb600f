#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace vdnn {

// Files in the safetensors format (https://github.com/huggingface/safetensors): a JSON header with names,
// shapes and offsets, then the values, little-endian. vdnn writes and reads 32-bit floats only.

struct TensorHeader {
  std::string name;
  std::vector<std::int64_t> shape;  // empty: one value
};

struct StoredTensor {
  std::vector<std::int64_t> shape;
  std::vector<float> values;  // row-major
};

// Writes a file whose values pass through in order, so that they need not be in memory together. The file
// appears under its name only when it is complete and on disk: until then it is a temporary file beside
// it, which the destructor removes, and what was there before stays.
//
// Not thread-safe. Every failure is a StorageError with the path and the system's reason; after one only
// destruction is useful, since finish() will refuse.
class SafetensorsWriter {
 public:
  // Reserves the room on disk. Refuses repeated, empty or non-UTF-8 names, "__metadata__", and negative or
  // overflowing shapes.
  SafetensorsWriter(const std::string& path, const std::vector<TensorHeader>& tensors);
  ~SafetensorsWriter();
  SafetensorsWriter(const SafetensorsWriter&) = delete;
  SafetensorsWriter& operator=(const SafetensorsWriter&) = delete;

  // The next values, in the order of the headers; a call may hold part of a tensor or several.
  void append(std::span<const float> values);

  // Call once, after all values. The file is durable when this returns.
  void finish();

 private:
  class Output;
  std::unique_ptr<Output> output_;
};

// The tensors of a file by name. Throws StorageError, with the path and what is wrong, for anything but a
// well-formed file of 32-bit floats; the file is not trusted.
std::map<std::string, StoredTensor> read_safetensors(const std::string& path);

}  // namespace vdnn
