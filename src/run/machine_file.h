#pragma once

#include <map>
#include <string>

namespace vdnn {

// Measured positive numbers by name, kept in a JSON file by machine. A file that cannot be read, or whose
// parts are broken, is empty there; one that cannot be written stays as it was.
using MeasuredNumbers = std::map<std::string, double>;

MeasuredNumbers read_measured(const std::string& path, const std::string& machine);

// Adds to what the file has, of this machine and of others.
void write_measured(const std::string& path, const std::string& machine, const MeasuredNumbers& numbers);

}  // namespace vdnn
