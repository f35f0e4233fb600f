#include "run/step_times.h"

#include <algorithm>
#include <map>

#include "run/cost_cache.h"
#include "run/machine_file.h"

namespace vdnn {
namespace {

std::string file_of(const std::string& directory) {
  return directory + "/step_times.json";
}

bool runs_beside_a_copy(const Plan& plan, const StepTimes& times, Interval launch) {
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    if (plan.steps[s].kind != StepKind::launch && times[s].overlaps(launch)) return true;
  }
  return false;
}

}  // namespace

double median_of(std::vector<double> values) {
  const auto middle = values.begin() + std::ssize(values) / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

void keep_step_times(const Program& program, const Plan& plan, const std::vector<StepTimes>& steps,
                     const std::string& machine, const std::string& directory) {
  if (directory.empty()) return;
  std::map<std::string, std::vector<double>> seconds;
  for (const auto& times : steps) {
    for (std::size_t s = 0; s < plan.steps.size(); ++s) {
      if (plan.steps[s].kind != StepKind::launch || times[s].empty() ||
          runs_beside_a_copy(plan, times, times[s]))
        continue;
      const Kernel& kernel = program.kernel(plan.steps[s].kernel);
      const auto candidate = static_cast<std::size_t>(plan.assignment[plan.steps[s].kernel.index()]);
      seconds[time_key(kernel, kernel.candidates[candidate])].push_back(
          1e-9 * static_cast<double>(times[s].length()));
    }
  }
  MeasuredNumbers medians;
  for (auto& [key, values] : seconds) medians[key] = median_of(std::move(values));
  write_measured(file_of(directory), machine, medians);
}

Program with_step_times(Program program, const std::string& machine, const std::string& directory) {
  if (directory.empty()) return program;
  const MeasuredNumbers known = read_measured(file_of(directory), machine);
  // How much longer the kernels that ran in kept steps took there, by the time that they take alone; of the
  // whole program's, each kernel at its fastest.
  double alone_seconds = 0;
  double known_alone_seconds = 0;
  double known_step_seconds = 0;
  for (const auto& kernel : program.kernels) {
    double fastest = 0;
    for (const auto& candidate : kernel.candidates) {
      if (candidate.seconds <= 0) continue;
      if (fastest == 0 || candidate.seconds < fastest) fastest = candidate.seconds;
      const auto found = known.find(time_key(kernel, candidate));
      if (found == known.end()) continue;
      known_alone_seconds += candidate.seconds;
      known_step_seconds += found->second;
    }
    alone_seconds += fastest;
  }
  // A few small kernels say nothing of the others.
  constexpr double kEnough = 0.5;
  const double typical =
      known_alone_seconds > kEnough * alone_seconds ? known_step_seconds / known_alone_seconds : 1;
  for (auto& kernel : program.kernels) {
    for (auto& candidate : kernel.candidates) {
      const auto found = known.find(time_key(kernel, candidate));
      candidate.seconds = found != known.end() ? found->second : typical * candidate.seconds;
    }
  }
  return program;
}

}  // namespace vdnn
