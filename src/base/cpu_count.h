#pragma once

namespace vdnn {

// Processors that this process may run on: its affinity, at least one.
int usable_cpu_count();

}  // namespace vdnn
