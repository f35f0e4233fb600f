#pragma once

#include <string>
#include <vector>

#include "vdnn/timeline.h"

namespace vdnn {

// Kernel times as they are inside training steps, kept per machine in step_times.json of a directory. Kernels
// timed alone, on the same memory again and again, find it in the caches; in a step they do not. So these say
// better how long a step takes, while the choice of algorithms goes by those of cost_cache.h, which do not
// change with what was trained before.

double median_of(std::vector<double> values);

// Of every kernel of the plan that ran with no copy beside it: the median over the training steps.
void keep_step_times(const Program& program, const Plan& plan, const std::vector<StepTimes>& steps,
                     const std::string& machine, const std::string& directory);

// The program with these times in place of its own. Candidates that ran in no kept step have their own times,
// longer by what is typical of those that did, where these make up at least half of the step.
Program with_step_times(Program program, const std::string& machine, const std::string& directory);

}  // namespace vdnn
