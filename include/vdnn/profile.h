#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace vdnn {

struct ProfileRequest {
  std::string name;  // of the machine, lower case
  std::string device = "cpu";
  int threads = 0;
  std::string cache_directory;
  std::string spill_directory;  // on the disk whose copies are measured
  // What is measured: convolutions, matrix products and kernels bound by memory. Empty: three networks of the
  // zoo.
  struct Network {
    std::string model;
    std::int64_t batch = 1;
    std::int64_t image = 224;
  };
  std::vector<Network> networks;
  std::function<void(std::int64_t done, std::int64_t total)> on_measure;
};

// Measures a device's kernels and its copies, alone and beside each other, and describes it as a profile
// (docs/profiles.md), which open_device("profile:FILE") reads. Throws UsageError for a device that is only
// described itself, and StorageError where copies cannot be measured.
std::string measure_profile(const ProfileRequest& request);

}  // namespace vdnn
