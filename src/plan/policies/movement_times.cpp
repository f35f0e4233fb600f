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
      // The last launch that begins early enough.
      const auto early = std::upper_bound(p_.starts.begin(), p_.starts.end(), start) - p_.starts.begin() - 1;
      std::int32_t& with = movement.prefetch_with;
      const std::int32_t from = std::min(with, std::max(earliest, static_cast<std::int32_t>(early)));
      const std::int32_t room = needed_.past_last_above(from, with, limit_ - bytes);
      needed_.add(room, with, bytes);
      with = room;
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
      const auto over = std::lower_bound(p_.starts.begin(), p_.starts.end(), end) - p_.starts.begin();
      std::int32_t& release = movement.release;
      const std::int32_t until = std::max(release, std::min(latest, static_cast<std::int32_t>(over)));
      const std::int32_t room = needed_.first_above(release, until, limit_ - bytes);
      needed_.add(release, room, bytes);
      release = room;
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
