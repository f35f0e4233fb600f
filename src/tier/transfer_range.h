#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace vdnn {

// Throws StorageError that names `tier` unless a transfer keeps the contract of Tier: offset, size and
// host address are multiples of `granule_bytes`, and the range lies in [0, reserved_bytes).
void check_transfer(std::string_view tier, std::int64_t reserved_bytes, std::int64_t granule_bytes,
                    std::int64_t offset_bytes, std::span<const std::byte> memory);

}  // namespace vdnn
