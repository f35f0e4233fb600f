#pragma once

#include <cstddef>
#include <cstdint>

namespace vdnn {

// A fresh mapping of host memory that stands for a device's: exactly the budget (rounded up to the
// page) with an inaccessible page behind it, so that a write past the budget faults. The planned bytes
// are made resident at once; whatever else is touched can be seen afterwards.
class HostArena {
 public:
  // 0 < planned_bytes <= budget_bytes. Throws DeviceError with the sizes and the system's reason.
  HostArena(std::int64_t budget_bytes, std::int64_t planned_bytes);
  ~HostArena();
  HostArena(const HostArena&) = delete;
  HostArena& operator=(const HostArena&) = delete;

  // 2 MiB aligned.
  [[nodiscard]] std::byte* data() const { return data_; }

  // End of the highest resident page: the planned bytes rounded up to the page unless somebody wrote above.
  [[nodiscard]] std::int64_t resident_extent_bytes() const;

 private:
  void make_resident(std::int64_t bytes);

  std::byte* mapping_ = nullptr;
  std::size_t mapping_bytes_ = 0;
  std::byte* data_ = nullptr;
  std::size_t usable_bytes_ = 0;
};

}  // namespace vdnn
