#include "tier/transfer_range.h"

#include <fmt/format.h>

#include "vdnn/error.h"

namespace vdnn {

void check_transfer(std::string_view tier, std::int64_t reserved_bytes, std::int64_t granule_bytes,
                    std::int64_t offset_bytes, std::span<const std::byte> memory) {
  const auto size = static_cast<std::uint64_t>(memory.size());
  const auto granule = static_cast<std::uint64_t>(granule_bytes);
  const auto address = reinterpret_cast<std::uintptr_t>(memory.data());
  const auto reserved = static_cast<std::uint64_t>(reserved_bytes);
  if (offset_bytes < 0 || size > reserved || static_cast<std::uint64_t>(offset_bytes) > reserved - size) {
    throw StorageError(fmt::format("{}: {} bytes at offset {} are outside the {} bytes reserved", tier, size,
                                   offset_bytes, reserved_bytes));
  }
  if (offset_bytes % granule_bytes != 0 || size % granule != 0 || (size > 0 && address % granule != 0)) {
    throw StorageError(
        fmt::format("{}: {} bytes at offset {} from host address {:#x} are not all multiples of {}", tier,
                    size, offset_bytes, address, granule_bytes));
  }
}

}  // namespace vdnn
