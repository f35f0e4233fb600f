#pragma once

#include <map>
#include <set>
#include <vector>

#include "plan/policies/residency_problem.h"

namespace vdnn {

// Gaps whose buffers are recomputed at their ends, such that no chain of kernels spoils another.
class RecomputationSet {
 public:
  explicit RecomputationSet(const ResidencyProblem& problem) : p_(problem) {}

  // Leaves out a gap whose chain reads what another one recomputes only later or at the same launch, or the
  // other way round.
  void add(std::size_t gap);

  // The launches with all chains; empty where there is none.
  [[nodiscard]] Launches launches() const;

 private:
  [[nodiscard]] bool reads_what_is_dropped(const Gap& gap, const ChainFinder::Chain& chain) const;
  [[nodiscard]] bool drops_what_is_read(const Gap& gap) const;
  [[nodiscard]] bool spoils_another(const Gap& gap, const ChainFinder::Chain& chain) const;
  [[nodiscard]] bool writes_any(const ChainFinder::Chain& chain, const std::vector<BufferId>& buffers) const;

  const ResidencyProblem& p_;
  std::map<BufferId, std::vector<Interval>> dropped_;  // launches of gaps that are recomputed at their ends
  std::map<BufferId, std::vector<std::int32_t>> read_at_;    // launches whose chains read the buffer
  std::map<std::int32_t, std::vector<std::size_t>> ending_;  // gaps by the launch that ends them
};

}  // namespace vdnn
