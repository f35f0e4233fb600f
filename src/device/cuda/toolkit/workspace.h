#pragma once

#include <cstddef>
#include <cstdint>

namespace vdnn::cuda {

// cuBLASLt asks for workspaces at multiples of 256 bytes, plans place them at multiples of 64: a kernel asks
// for enough to begin at the next multiple.
inline constexpr std::int64_t kWorkspaceAlignmentBytes = 256;
inline constexpr std::int64_t kPlacedAlignmentBytes = 64;

// What a candidate states when its library needs `bytes`.
inline std::int64_t stated_workspace_bytes(std::int64_t bytes) {
  return bytes == 0 ? 0 : bytes + kWorkspaceAlignmentBytes - kPlacedAlignmentBytes;
}

// Where the library's part of a stated workspace begins.
inline std::byte* aligned_workspace(std::byte* stated) {
  const auto past = reinterpret_cast<std::uintptr_t>(stated) % kWorkspaceAlignmentBytes;
  return past == 0 ? stated : stated + (kWorkspaceAlignmentBytes - past);
}

}  // namespace vdnn::cuda
