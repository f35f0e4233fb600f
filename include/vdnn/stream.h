#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace vdnn {

// What runs side by side: kernels, and copies out and in by the tier that they go to and come from, each in
// order.
enum class StreamKind { compute, offload, prefetch, far_offload, far_prefetch };
inline constexpr std::size_t kStreamCount = 5;
inline constexpr std::array<StreamKind, kStreamCount> kStreamKinds = {
    StreamKind::compute, StreamKind::offload, StreamKind::prefetch, StreamKind::far_offload,
    StreamKind::far_prefetch};

constexpr std::size_t index_of(StreamKind stream) {
  return static_cast<std::size_t>(stream);
}

constexpr bool is_offload(StreamKind stream) {
  return stream == StreamKind::offload || stream == StreamKind::far_offload;
}

// "compute", "offload", "prefetch", "far offload", "far prefetch".
std::string_view stream_name(StreamKind stream);

}  // namespace vdnn
