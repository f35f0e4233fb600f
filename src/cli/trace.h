#pragma once

#include <string>
#include <vector>

#include "vdnn/session.h"

namespace vdnn::cli {

// Training steps, run or simulated, in the trace-event format of chrome://tracing and Perfetto: a track for
// each stream with its work and its waits, and counters of live bytes by role. Throws StorageError.
void write_trace(const std::string& path, const Program& program, const Plan& plan,
                 const std::vector<MeasuredStep>& steps);

}  // namespace vdnn::cli
