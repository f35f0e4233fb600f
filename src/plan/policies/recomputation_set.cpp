#include "plan/policies/recomputation_set.h"

#include <algorithm>

namespace vdnn {

void RecomputationSet::add(std::size_t g) {
  const Gap& gap = p_.gaps.all[g];
  const ChainFinder::Chain& chain = p_.recomputations[g]->chain;
  if (reads_what_is_dropped(gap, chain) || drops_what_is_read(gap) || spoils_another(gap, chain)) return;
  dropped_[gap.buffer].push_back({gap.from + 1, gap.to + 1});
  for (const auto input : chain.inputs) read_at_[input].push_back(gap.to);
  ending_[gap.to].push_back(g);
}

bool RecomputationSet::reads_what_is_dropped(const Gap& gap, const ChainFinder::Chain& chain) const {
  return std::any_of(chain.inputs.begin(), chain.inputs.end(), [&](BufferId input) {
    const auto spans = dropped_.find(input);
    return spans != dropped_.end() &&
           std::any_of(spans->second.begin(), spans->second.end(),
                       [&](const Interval& span) { return span.contains(gap.to); });
  });
}

bool RecomputationSet::drops_what_is_read(const Gap& gap) const {
  const auto readers = read_at_.find(gap.buffer);
  return readers != read_at_.end() && std::any_of(readers->second.begin(), readers->second.end(),
                                                  [&](auto at) { return gap.from < at && at <= gap.to; });
}

// In front of the same launch the chains run into each other.
bool RecomputationSet::spoils_another(const Gap& gap, const ChainFinder::Chain& chain) const {
  const auto same = ending_.find(gap.to);
  return same != ending_.end() && std::any_of(same->second.begin(), same->second.end(), [&](std::size_t g) {
           const ChainFinder::Chain& other = p_.recomputations[g]->chain;
           return writes_any(chain, other.inputs) || writes_any(other, chain.inputs);
         });
}

bool RecomputationSet::writes_any(const ChainFinder::Chain& chain,
                                  const std::vector<BufferId>& buffers) const {
  return std::any_of(chain.kernels.begin(), chain.kernels.end(), [&](KernelId kernel) {
    const auto& writes = p_.program.kernel(kernel).writes;
    return std::any_of(writes.begin(), writes.end(), [&](const View& view) {
      return std::find(buffers.begin(), buffers.end(), view.buffer) != buffers.end();
    });
  });
}

Launches RecomputationSet::launches() const {
  if (ending_.empty()) return {};
  Launches all;
  for (std::int32_t l = 0; l < p_.count; ++l) {
    if (const auto ending = ending_.find(l); ending != ending_.end()) {
      std::set<KernelId> again;  // in the program's order
      for (const auto g : ending->second) {
        const auto& kernels = p_.recomputations[g]->chain.kernels;
        again.insert(kernels.begin(), kernels.end());
      }
      all.insert(all.end(), again.begin(), again.end());
    }
    all.push_back(p_.kernel_of(l));
  }
  return all;
}

}  // namespace vdnn
