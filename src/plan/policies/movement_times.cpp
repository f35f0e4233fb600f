#include "plan/policies/movement_times.h"

#include <algorithm>
#include <array>
#include <numeric>

namespace vdnn {
namespace {

class Spreader {
 public:
  Spreader(const ResidencyProblem& problem, const std::vector<bool>& far_buffers, std::int64_t limit_bytes,
           ByteProfile& needed, std::vector<Movement>& movements)
      : p_(problem), far_(far_buffers), limit_(limit_bytes), needed_(needed), movements_(movements) {}

  void start_copies_in_earlier() {
    std::array<double, 2> links_free_until = {p_.start(p_.count), p_.start(p_.count)};
    for (const auto i :
         sorted([](const auto&a, const auto&b) { return a.prefetch_with > b.prefetch_with; })) {
      Movement& movement = movements_[i];
      const std::int64_t bytes = bytes_of(movement);
      const bool far = is_far(movement);
      double& link_free_until = links_free_until[far ? 1 : 0];
      const double end = std::min(link_free_until, p_.start(movement.prefetch_with));
      const double start = end - seconds(bytes, far ? StreamKind::far_prefetch : StreamKind::prefetch);
      const std::int32_t earliest = movement.goes_round ? 0 : movement.release + 1;
      std::int32_t& with = movement.prefetch_with;
      while (with > earliest && p_.start(with) > start && take_room(with - 1, bytes)) --with;
      link_free_until = std::min(end, std::max(start, p_.start(with)));
    }
  }

  void release_later() {
    std::array<double, 2> links_busy_until{};
    for (const auto i : sorted([](const auto&a, const auto&b) { return a.offload_with < b.offload_with; })) {
      Movement& movement = movements_[i];
      if (!movement.copies_out) continue;
      const std::int64_t bytes = bytes_of(movement);
      const bool far = is_far(movement);
      double& link_busy_until = links_busy_until[far ? 1 : 0];
      const double end = std::max(link_busy_until, p_.start(movement.offload_with)) +
                         seconds(bytes, far ? StreamKind::far_offload : StreamKind::offload);
      link_busy_until = end;
      const std::int32_t latest = movement.goes_round ? p_.count : movement.prefetch_with - 1;
      std::int32_t& release = movement.release;
      while (release < latest && p_.start(release) < end && take_room(release, bytes)) ++release;
    }
  }

 private:
  [[nodiscard]] std::int64_t bytes_of(const Movement& movement) const {
    return p_.program.buffer(movement.buffer).placed_bytes();
  }
  [[nodiscard]] bool is_far(const Movement& movement) const { return far_[movement.buffer.index()]; }
  [[nodiscard]] double seconds(std::int64_t bytes, StreamKind stream) const {
    return static_cast<double>(bytes) / p_.links.bytes_per_s(stream);
  }

  // Positions in the list, by an order of movements.
  template <class Before>
  [[nodiscard]] std::vector<std::size_t> sorted(const Before& before) const {
    std::vector<std::size_t> order(movements_.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](auto a, auto b) { return before(movements_[a], movements_[b]); });
    return order;
  }

  // Takes the bytes at the launch where they are within the limit.
  bool take_room(std::int32_t launch, std::int64_t bytes) {
    if (needed_.at(launch) + bytes > limit_) return false;
    needed_.add(launch, launch + 1, bytes);
    return true;
  }

  const ResidencyProblem& p_;
  const std::vector<bool>& far_;  // by buffer
  std::int64_t limit_;
  ByteProfile& needed_;
  std::vector<Movement>& movements_;
};

}  // namespace

void spread_movements(const ResidencyProblem& problem, const std::vector<bool>& far_buffers,
                      std::int64_t limit_bytes, ByteProfile& needed, std::vector<Movement>& movements) {
  Spreader spreader(problem, far_buffers, limit_bytes, needed, movements);
  spreader.start_copies_in_earlier();
  spreader.release_later();
}

}  // namespace vdnn
