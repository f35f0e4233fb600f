#include "plan/gaps.h"

#include "program/granule.h"

namespace vdnn {
namespace {

// The staged batch is written between steps by the host, and results are read then.
bool may_be_away(const Buffer& buffer) {
  return buffer.bytes >= kLeastMovedBytes && !buffer.result &&
         !(buffer.persistent && buffer.role == Role::input);
}

}  // namespace

Gaps find_gaps(const Program& program, const Uses& uses, std::int32_t launches) {
  Gaps gaps;
  for (std::size_t b = 0; b < program.buffers.size(); ++b) {
    const Buffer& buffer = program.buffers[b];
    BufferGaps range{.first = static_cast<std::int32_t>(gaps.all.size())};
    if (may_be_away(buffer) && !uses[b].empty()) {
      Gap gap{.buffer = BufferId(b), .bytes = buffer.placed_bytes(), .final_at = -1};
      for (std::size_t u = 0; u < uses[b].size(); ++u) {
        gap.from = uses[b][u].launch;
        if (uses[b][u].writes) gap.final_at = gap.from;
        const bool last = u + 1 == uses[b].size();
        if (last && !buffer.persistent) break;
        gap.to = last ? launches + uses[b].front().launch : uses[b][u + 1].launch;
        if (gap.to - gap.from < 2 || (!last && uses[b][u + 1].restarts)) continue;
        range.goes_round |= last;
        gaps.all.push_back(gap);
      }
    }
    range.end = static_cast<std::int32_t>(gaps.all.size());
    // Without the gap between steps the others are of no use.
    if (buffer.persistent && !range.goes_round) {
      gaps.all.resize(static_cast<std::size_t>(range.first));
      range.end = range.first;
    }
    gaps.of_buffer.push_back(range);
  }
  return gaps;
}

}  // namespace vdnn
