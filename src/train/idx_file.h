#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace vdnn {

// What an IDX file is expected to hold; decides the ranks that are accepted.
enum class IdxContent {
  labels,  // rank 1: N
  images,  // rank 3: N x H x W, or rank 4: N x C x H x W
};

// An IDX file of unsigned bytes, the format of MNIST and its successors.
struct IdxFile {
  std::string path;
  std::vector<std::int64_t> shape;  // every entry is positive, the product is bytes.size()
  std::vector<std::uint8_t> bytes;  // row-major
};

// Reads a plain or gzip file to its end. As gzip itself does, ignores what follows the last gzip member.
// Throws StorageError with file, numbers and what would help if the file is missing (`advice` is added
// then, may be empty), truncated, too long, corrupt, or of another type or rank. Memory grows only with
// data that is there, whatever the header says.
IdxFile read_idx_file(const std::string& path, IdxContent content, const std::string& advice);

}  // namespace vdnn
