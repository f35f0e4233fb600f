#pragma once

#include <vector>

#include "cli/study/cases.h"
#include "cli/study/table.h"

namespace vdnn::cli {

// What the paper says in its text, figure by figure, beside ours.
Table paper_figures(const std::vector<NetworkStudy>& studies, std::int64_t budget_bytes);

}  // namespace vdnn::cli
