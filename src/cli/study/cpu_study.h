#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/study/paper_tables.h"

namespace vdnn::cli {

struct CpuStudyOptions {
  int threads = 0;
  std::string spill;
  std::string cache;
  std::int64_t steps = 5;
  bool measure_only = false;
};

// Times the kernels of the study's networks alone and inside training steps, and copies, and keeps the times.
// What a prediction goes by, in a process before the one that is predicted.
void measure_for_cpu_study(const CpuStudyOptions& options);

// The paper's ten networks on the CPU device, with batches and images that this can train in minutes: what
// was predicted from the kept times, and what then was measured. `heading` becomes the page's.
std::vector<Exhibit> cpu_exhibits(const CpuStudyOptions& options, std::string& heading);

}  // namespace vdnn::cli
