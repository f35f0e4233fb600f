#pragma once

#include <cstdint>
#include <string>

namespace vdnn {

// The size of the regular file that `path` names. Throws StorageError, with the system's reason and
// `advice` (what would help, may be empty), if there is none: reading a pipe or a terminal could wait for
// ever, and a size that can be asked for is what untrusted headers are measured against.
std::int64_t regular_file_bytes(const std::string& path, const std::string& advice);

}  // namespace vdnn
