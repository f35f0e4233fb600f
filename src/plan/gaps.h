#pragma once

#include <cstdint>
#include <vector>

#include "plan/policy.h"

namespace vdnn {

// A buffer unused from one kernel to another, during which it may be away. Positions of launches; `to`
// counts on past the last launch where the gap goes round into the next step.
struct Gap {
  BufferId buffer;
  std::int64_t bytes = 0;
  std::int32_t from = 0;      // the use before
  std::int32_t to = 0;        // the use after
  std::int32_t final_at = 0;  // the last write before; -1: none in this step
};

// The gaps of a buffer that may be away, in order; the one that goes round is the last.
struct BufferGaps {
  std::int32_t first = 0;  // of all gaps
  std::int32_t end = 0;
  bool goes_round = false;
};

struct Gaps {
  std::vector<Gap> all;
  std::vector<BufferGaps> of_buffer;  // empty ranges for what stays
};

// Those of at least one launch between their uses, in which the buffer's value must not be lost. What
// persists may be away in the step only where it is away between steps, too: it would have to come back to
// the address that it left.
Gaps find_gaps(const Program& program, const Uses& uses, std::int32_t launches);

}  // namespace vdnn
