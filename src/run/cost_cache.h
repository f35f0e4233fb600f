#pragma once

#include <functional>
#include <string>

#include "vdnn/device.h"

namespace vdnn {

// Choosing algorithms needs the times of kernels with several candidates, predicting a step those of all.
enum class KernelsToTime { with_a_choice, all };

// Measured kernel times, kept per machine in one JSON file of a directory.
//
// Fills in the seconds of kernels: from the file where they are known,
// else by measuring, one kernel per signature; then writes the file (to a temporary one, renamed). A cache
// that cannot be read or written costs time, never results: it is measured again. Candidates whose working
// set exceeds the limit, known or not, keep no seconds: they could not run, and are not measured.
void measure_kernels(Executable& executable, KernelsToTime which, const std::string& directory,
                     std::int64_t limit_bytes, int threads,
                     const std::function<void(std::int64_t done, std::int64_t total)>& progress);

// The name of a candidate's seconds in files: kernels with the same one take the same time.
std::string time_key(const Kernel& kernel, const Candidate& candidate);

// $XDG_CACHE_HOME/vdnn, else ~/.cache/vdnn, else empty: nothing is kept.
std::string default_cache_directory();

}  // namespace vdnn
