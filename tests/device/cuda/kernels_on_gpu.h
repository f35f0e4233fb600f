#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <exception>
#include <ostream>
#include <string>

#include "device/kernels_against_reference.h"
#include "support/gpu.h"

namespace vdnn::testing {

// What the cuda device may be asked for.
struct Asked {
  const char* name = "";
  TestedKernels kernels{};

  friend std::ostream& operator<<(std::ostream& out, const Asked& asked) { return out << asked.name; }
};

inline std::string asked_name(const ::testing::TestParamInfo<Asked>& info) {
  return info.param.name;
}

inline Asked float32() {
  return {"Float32",
          {.device = "cuda", .tolerance = {.plain = 1e-5, .transformed = 1e-4}, .inverse_deviations = true}};
}
inline Asked tf32() {
  return {"Tf32",
          {.device = "cuda",
           .options = {.tf32 = true},
           .tolerance = {.plain = 1e-2, .transformed = 1e-2},
           .inverse_deviations = true}};
}
inline Asked fast() {
  Asked asked = float32();
  asked.name = "Fast";
  asked.kernels.options.deterministic = false;
  return asked;
}

class KernelsOnGpu : public ::testing::TestWithParam<Asked> {
 protected:
  // A network that is refused or breaks does not hide what others do.
  static void expect_same(const Graph& graph) {
    SCOPED_TRACE(graph.name());
    try {
      KernelsAgainstReference kernels(graph, GetParam().kernels);
      kernels.expect_same();
      std::printf("%s, %s\n", GetParam().name, kernels.summary().c_str());
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what() << "\n" << to_text(graph);
    }
  }
};

}  // namespace vdnn::testing
