#pragma once

#include <functional>
#include <vector>

#include "vdnn/program.h"

namespace vdnn {

// A program with one kernel for every op of a graph and one buffer for every storage, in the graph's order:
// what devices without layouts of their own lower to.
struct OpProgram {
  Program program;                  // kernels have no candidates yet
  std::vector<BufferId> buffer_of;  // by storage root
};
OpProgram lower_by_op(const TrainingGraph& graph, const std::string& device,
                      const std::function<std::int64_t(const TrainingTensor&)>& bytes_of);

}  // namespace vdnn
