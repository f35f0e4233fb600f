#pragma once

#include <string>
#include <vector>

#include "cli/study/cases.h"
#include "cli/study/table.h"

namespace vdnn::cli {

// A table with the chart that shows it.
struct Exhibit {
  Table table;
  std::string chart_svg;  // empty: none
};

// The paper's evaluation, each table beside what was published.
std::vector<Exhibit> paper_exhibits(const std::vector<NetworkStudy>& studies, std::int64_t budget_bytes);

}  // namespace vdnn::cli
