#pragma once

#include <cstdint>

namespace vdnn {

// What a process may still take before the machine or its cgroup (v2 or v1) runs out, in bytes.
std::int64_t free_memory_bytes();

// Resident set of this process, now and at its highest.
std::int64_t resident_set_bytes();
std::int64_t highest_resident_set_bytes();

// From now on "highest" means from now on, where the kernel allows it.
void forget_highest_resident_set();

}  // namespace vdnn
