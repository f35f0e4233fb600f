#pragma once

#include "vdnn/program.h"

namespace vdnn {

// Buffers that may move lie on the tier's granule; smaller ones never move.
inline constexpr std::int64_t kGranuleBytes = 4096;
inline constexpr std::int64_t kLeastMovedBytes = 64 * 1024;

// The buffer with the alignment that its size asks for.
inline Buffer granular(Buffer buffer) {
  buffer.alignment_bytes = buffer.bytes >= kLeastMovedBytes ? kGranuleBytes : 64;
  return buffer;
}

}  // namespace vdnn
