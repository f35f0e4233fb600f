#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "plan/gaps.h"

namespace vdnn {

// Finds how a forward kernel's output could be recomputed at the end of a gap instead of being kept or moved.
class ChainFinder {
 public:
  ChainFinder(const Program& program, const Launches& launches, const Uses& uses);

  struct Chain {
    std::vector<KernelId> kernels;  // to be launched again, in this order, before launch `gap.to`
    std::vector<BufferId> inputs;   // that must be resident then; all of them hold what the kernels need
  };
  // Nothing where a kernel in the chain would be one that learns or loads, would take more than kMostKernels,
  // or needs a value that something still alive has taken the place of.
  [[nodiscard]] std::optional<Chain> find(const Gap& gap) const;

  static constexpr std::size_t kMostKernels = 8;

 private:
  class Search;
  [[nodiscard]] std::int64_t version_before(KernelId kernel, BufferId buffer) const;
  [[nodiscard]] std::int64_t held(BufferId buffer, std::int32_t at) const;
  [[nodiscard]] bool is_live(BufferId buffer, std::int32_t at) const;

  const Program& program_;
  const Launches& launches_;
  const Uses& uses_;
  // By buffer, in the program's order. A value of a buffer is named by how many of them made it.
  std::vector<std::vector<KernelId>> writers_;
};

}  // namespace vdnn
