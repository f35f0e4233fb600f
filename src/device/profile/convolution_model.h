#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "vdnn/attributes.h"
#include "vdnn/shape.h"

namespace vdnn {

// One of a convolution's kernels: y = x * w forward, dx from dy and w, or dw from x and dy. The three have
// the same number of operations, so the model does not tell them apart but for what a family offers.
struct ConvolutionKernel {
  Shape x;
  Shape y;
  ConvolutionAttributes attributes;
  bool forward = true;
};

// What a family of algorithms needs, from the algorithm itself: no number here is fitted to a measurement.
struct ConvolutionNeed {
  std::int64_t workspace_bytes = 0;
  double flops = 0;                    // that it executes, not that the convolution defines
  double workspace_traffic_bytes = 0;  // written to and read from the workspace
};

// "implicit_gemm", "implicit_precomp_gemm", "gemm", "fft", "fft_tiling", "winograd".
std::vector<std::string> convolution_families();

// None where the family does not offer this kernel. docs/profiles.md has the formulas with their sources.
std::optional<ConvolutionNeed> convolution_need(std::string_view family, const ConvolutionKernel& kernel);

}  // namespace vdnn
