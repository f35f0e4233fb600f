#pragma once

#include "cli/run_options.h"
#include "vdnn/error.h"

namespace vdnn::cli {

// Prints the largest batch that fits the budget, for the policy asked for or for each, and writes it as JSON.
void largest_batches(const NetworkOptions& options);

}  // namespace vdnn::cli
