#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "vdnn/device.h"
#include "vdnn/error.h"

// For *_gpu_test.cpp: where there is no GPU the program ends before its first test, so that fixtures may open
// the device in their constructors, with the status that ctest reports as skipped.
namespace vdnn::testing {

// Why the device cuda is not here; empty where it is. Whatever else is wrong with it is thrown.
inline std::string why_no_gpu() {
  try {
    static_cast<void>(open_device("cuda"));
  } catch (const UnsupportedError& error) {
    return error.what();  // vdnn was built without it
  } catch (const DeviceError& error) {
    const std::string why = error.what();
    for (const char* absent : {"needs an NVIDIA GPU", "no device cuda:"}) {
      if (why.find(absent) != std::string::npos) return why;
    }
    throw;
  }
  return {};
}

class GpuOrSkip : public ::testing::Environment {
 public:
  void SetUp() override {
    constexpr int kSkipped = 77;
    const std::string why = why_no_gpu();
    if (why.empty()) return;
    std::printf("[  SKIPPED ] all tests: there is no GPU: %s\n", why.c_str());
    std::fflush(stdout);
    std::exit(kSkipped);
  }
};

inline ::testing::Environment* const kGpuOrSkip = ::testing::AddGlobalTestEnvironment(new GpuOrSkip);

}  // namespace vdnn::testing
