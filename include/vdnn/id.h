#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace vdnn {

// An index into one particular table. Ids of different tables do not convert into each other.
template <class Tag>
class Id {
 public:
  constexpr Id() = default;
  constexpr explicit Id(std::size_t index) : index_(static_cast<std::int32_t>(index)) {}

  [[nodiscard]] constexpr std::size_t index() const { return static_cast<std::size_t>(index_); }
  [[nodiscard]] constexpr bool valid() const { return index_ >= 0; }

  friend constexpr auto operator<=>(Id, Id) = default;

 private:
  std::int32_t index_ = -1;
};

}  // namespace vdnn

template <class Tag>
struct std::hash<vdnn::Id<Tag>> {
  std::size_t operator()(vdnn::Id<Tag> id) const noexcept { return id.index(); }
};
