#include "plan/far_buffers.h"

#include <algorithm>

namespace vdnn {
namespace {

struct Moved {
  std::size_t buffer = 0;
  std::int64_t copies = 0;
  double shortest_absence = 0;
};

std::vector<Moved> find_moved(const Program& program, const std::vector<Movement>& movements,
                              const std::function<double(const Movement&)>& absence) {
  std::vector<Moved> by_buffer(program.buffers.size());
  for (const auto& movement : movements) {
    Moved& moved = by_buffer[movement.buffer.index()];
    const double seconds = absence(movement);
    moved.shortest_absence = moved.copies == 0 ? seconds : std::min(moved.shortest_absence, seconds);
    moved.copies += movement.copies_out ? 2 : 1;
  }
  std::vector<Moved> all;
  for (std::size_t b = 0; b < by_buffer.size(); ++b) {
    by_buffer[b].buffer = b;
    if (by_buffer[b].copies > 0) all.push_back(by_buffer[b]);
  }
  return all;
}

}  // namespace

std::vector<bool> choose_far_buffers(const Program& program, const std::vector<Movement>& movements,
                                     std::int64_t near_capacity_bytes,
                                     const std::function<double(const Movement&)>& absence) {
  std::vector<bool> far(program.buffers.size(), false);
  std::vector<Moved> moved = find_moved(program, movements, absence);
  std::int64_t near_bytes = 0;
  for (const auto& one : moved) near_bytes += program.buffers[one.buffer].placed_bytes();
  if (near_bytes <= near_capacity_bytes) return far;
  std::stable_sort(moved.begin(), moved.end(), [](const Moved& a, const Moved& b) {
    return a.copies != b.copies ? a.copies < b.copies : a.shortest_absence > b.shortest_absence;
  });
  for (const auto& one : moved) {
    if (near_bytes <= near_capacity_bytes) break;
    far[one.buffer] = true;
    near_bytes -= program.buffers[one.buffer].placed_bytes();
  }
  return far;
}

}  // namespace vdnn
