#pragma once

#include <cstdint>
#include <vector>

#include "vdnn/program.h"

namespace vdnn {

// A kernel's use of a buffer, by position in the program.
struct Use {
  std::int32_t kernel = 0;
  bool reads = false;
  bool writes = false;
};

// Uses of every buffer in kernel order, at most one per kernel.
using Uses = std::vector<std::vector<Use>>;
Uses find_uses(const Program& program);

// A maximal run of kernels of one layer in one direction: where the paper speaks of "layer n forward" or
// "layer m backward".
struct Pass {
  LayerId layer;
  bool backward = false;
  std::int32_t begin = 0;  // kernels [begin, end)
  std::int32_t end = 0;
};
std::vector<Pass> find_passes(const Program& program);

// Pass of each kernel.
std::vector<std::int32_t> pass_of_kernels(const std::vector<Pass>& passes);

}  // namespace vdnn
