#include "run/cost_cache.h"

#include <fmt/format.h>

#include <cstdlib>
#include <map>

#include "base/free_memory.h"
#include "run/machine_file.h"

namespace vdnn {
std::string time_key(const Kernel& kernel, const Candidate& candidate) {
  return fmt::format("{} | {}/{}", kernel.signature, candidate.algorithm, candidate.slices);
}

std::string default_cache_directory() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache != '\0') {
    return std::string(cache) + "/vdnn";
  }
  if (const char* home = std::getenv("HOME"); home != nullptr && *home != '\0') {
    return std::string(home) + "/.cache/vdnn";
  }
  return {};
}

void measure_kernels(Executable& executable, KernelsToTime which, const std::string& directory,
                     std::int64_t limit_bytes, int threads,
                     const std::function<void(std::int64_t, std::int64_t)>& progress) {
  struct Timing {
    KernelId kernel;
    int candidate = 0;
  };
  const Program& program = executable.program();
  const std::string machine = executable.cost_key(threads);
  const std::string path = directory.empty() ? "" : directory + "/kernel_times.json";
  MeasuredNumbers times = path.empty() ? MeasuredNumbers{} : read_measured(path, machine);
  std::map<std::string, Timing> wanted;
  for (std::size_t k = 0; k < program.kernels.size(); ++k) {
    const auto& kernel = program.kernels[k];
    if (which == KernelsToTime::with_a_choice && kernel.candidates.size() < 2) continue;
    for (std::size_t c = 0; c < kernel.candidates.size(); ++c) {
      if (working_set_bytes(program, kernel, kernel.candidates[c]) > limit_bytes) continue;
      const auto key = time_key(kernel, kernel.candidates[c]);
      if (!times.contains(key)) wanted.try_emplace(key, Timing{KernelId(k), static_cast<int>(c)});
    }
  }
  if (!wanted.empty()) {
    auto timer = executable.open_timer(threads);
    std::int64_t done = 0;
    for (const auto& [key, timing] : wanted) {
      if (progress) progress(done++, static_cast<std::int64_t>(wanted.size()));
      times[key] = timer->seconds(timing.kernel, timing.candidate);
    }
    if (progress) progress(done, done);
    // What measuring took is given back before a run begins, and does not count as the run's.
    timer.reset();
    forget_highest_resident_set();
    if (!path.empty()) write_measured(path, machine, times);
  }
  for (std::size_t k = 0; k < program.kernels.size(); ++k) {
    const auto& kernel = program.kernels[k];
    for (std::size_t c = 0; c < kernel.candidates.size(); ++c) {
      const auto known = times.find(time_key(kernel, kernel.candidates[c]));
      const bool fits = working_set_bytes(program, kernel, kernel.candidates[c]) <= limit_bytes;
      executable.set_seconds(KernelId(k), static_cast<int>(c),
                             fits && known != times.end() ? known->second : 0);
    }
  }
}

}  // namespace vdnn
