#pragma once

#include <string>
#include <string_view>

namespace vdnn {

// Writes a file that appears whole or not at all: a temporary one beside it takes its name in the end.
// What is there and no regular file (a link, a device, a pipe) is written to as it is. Throws StorageError
// with the path and the system's reason.
void write_whole_file(const std::string& path, std::string_view content);

// All bytes of a file; throws StorageError like it.
std::string read_whole_file(const std::string& path);

}  // namespace vdnn
