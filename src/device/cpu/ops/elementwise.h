#pragma once

#include <algorithm>
#include <cstdint>

namespace vdnn::cpu {

// Splits [0, count) into fixed pieces over the threads: body(begin, end). The pieces do not depend on
// which thread runs them, so results are the same for any schedule.
template <class Body>
void parallel_ranges(std::int64_t count, Body&& body) {
  constexpr std::int64_t kPiece = 1 << 16;
  const std::int64_t pieces = (count + kPiece - 1) / kPiece;
#pragma omp parallel for schedule(static) if (pieces > 1)
  for (std::int64_t piece = 0; piece < pieces; ++piece) {
    body(piece * kPiece, std::min(count, (piece + 1) * kPiece));
  }
}

}  // namespace vdnn::cpu
