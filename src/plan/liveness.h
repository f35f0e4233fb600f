#pragma once

#include <cstdint>
#include <vector>

#include "vdnn/interval.h"
#include "vdnn/program.h"

namespace vdnn {

// Kernels in the order in which a step launches them. Some may come again, to recompute their outputs.
using Launches = std::vector<KernelId>;
Launches each_once(const Program& program);

// A launch's use of a buffer.
struct Use {
  std::int32_t launch = 0;  // position in the order of launches
  bool reads = false;
  bool writes = false;
  bool restarts = false;  // needs nothing that the buffer held: it makes the value from its beginning
};

// Uses of every buffer in launch order, at most one per launch.
using Uses = std::vector<std::vector<Use>>;
Uses find_uses(const Program& program, const Launches& launches);

// The launches at which the buffer holds something that will be used: half open, in order. Not the whole span
// of its uses where its value is recomputed.
std::vector<Interval> live_spans(const Buffer& buffer, const std::vector<Use>& uses, std::int64_t launches);

// Bytes at each launch of what holds something that will be used, workspace left out.
std::vector<std::int64_t> live_bytes_by_launch(const Program& program, const Uses& uses,
                                               std::int64_t launches);

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
