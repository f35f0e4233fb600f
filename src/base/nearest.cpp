#include "base/nearest.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace vdnn {
namespace {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substitute = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substitute});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string suggest(std::string_view name, std::span<const std::string> known) {
  std::vector<std::pair<std::size_t, std::string>> ranked;
  for (const auto& candidate : known) ranked.emplace_back(edit_distance(name, candidate), candidate);
  std::sort(ranked.begin(), ranked.end());
  std::vector<std::string> near;
  for (const auto& [distance, candidate] : ranked) {
    if (distance <= std::max<std::size_t>(2, name.size() / 3) && near.size() < 3) {
      near.push_back(fmt::format("'{}'", candidate));
    }
  }
  if (!near.empty()) return fmt::format("; did you mean {}?", fmt::join(near, " or "));
  return fmt::format("; known: {}", fmt::join(known, ", "));
}

}  // namespace vdnn
