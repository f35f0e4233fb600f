#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "vdnn/links.h"

namespace vdnn {

// A library's way to convolve: a family of convolution_model.h, and how much of the machine's peak it
// reaches.
struct ConvolutionAlgorithm {
  std::string family;
  double efficiency = 0;  // of flops_per_s, on the operations that the family itself counts
};

// A machine described by numbers. docs/profiles.md says what they mean.
struct MachineProfile {
  std::string name;
  std::string summary;
  std::vector<std::string> sources;
  std::int64_t memory_bytes = 0;
  double flops_per_s = 0;
  double memory_bytes_per_s = 0;
  double memory_efficiency = 0;  // share of memory_bytes_per_s that kernels reach
  double matrix_efficiency = 0;  // share of flops_per_s that matrix products of fully connected layers reach
  double launch_seconds = 0;     // of every kernel, on top
  Links links;
  std::vector<ConvolutionAlgorithm> convolution_algorithms;
};

// Throws ModelError that names `where` and the field for what is no profile.
MachineProfile read_profile(std::string_view json, const std::string& where);

// The text that read_profile reads.
std::string to_json(const MachineProfile& profile);

// The profiles that come with vdnn.
std::vector<std::string> profile_names();

// One of them, or the file of this path (any name with a '/' or a '.'). Throws UsageError for an unknown name
// and StorageError for a file that cannot be read.
MachineProfile find_profile(const std::string& name_or_path);

}  // namespace vdnn
