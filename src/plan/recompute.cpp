#include "plan/recompute.h"

#include <algorithm>

namespace vdnn {

ChainFinder::ChainFinder(const Program& program, const Launches& launches, const Uses& uses)
    : program_(program), launches_(launches), uses_(uses), writers_(program.buffers.size()) {
  for (std::size_t k = 0; k < program.kernels.size(); ++k) {
    for (const auto& view : program.kernels[k].writes) {
      auto& writers = writers_[view.buffer.index()];
      if (writers.empty() || writers.back() != KernelId(k)) writers.emplace_back(k);
    }
  }
}

std::int64_t ChainFinder::version_before(KernelId kernel, BufferId buffer) const {
  const auto& writers = writers_[buffer.index()];
  return std::lower_bound(writers.begin(), writers.end(), kernel) - writers.begin();
}

// The value in the buffer just before a launch.
std::int64_t ChainFinder::held(BufferId buffer, std::int32_t at) const {
  const auto& uses = uses_[buffer.index()];
  auto use = std::lower_bound(uses.begin(), uses.end(), at,
                              [](const Use& u, auto launch) { return u.launch < launch; });
  while (use != uses.begin()) {
    --use;
    if (use->writes) return version_before(launches_[static_cast<std::size_t>(use->launch)], buffer) + 1;
  }
  return 0;
}

bool ChainFinder::is_live(BufferId buffer, std::int32_t at) const {
  const Buffer& which = program_.buffer(buffer);
  if (which.persistent) return true;
  const auto& uses = uses_[buffer.index()];
  const auto next = std::lower_bound(uses.begin(), uses.end(), at,
                                     [](const Use& u, auto launch) { return u.launch < launch; });
  if (next == uses.end()) return which.result && !uses.empty();
  return !next->restarts && next != uses.begin();
}

// For one gap.
class ChainFinder::Search {
 public:
  Search(const ChainFinder& finder, const Gap& gap) : f_(finder), target_(gap.buffer), at_(gap.to) {}

  std::optional<Chain> run() {
    if (!make(target_, f_.held(target_, at_))) return {};
    std::sort(chain_.kernels.begin(), chain_.kernels.end());
    if (!leaves_all_as_it_was()) return {};
    return std::move(chain_);
  }

 private:
  // The buffer's value at the end of the gap: from what is there, or by its writers launched again.
  bool provide(BufferId buffer, std::int64_t version) {
    if (buffer != target_ && f_.is_live(buffer, at_) && f_.held(buffer, at_) == version) {
      if (std::find(chain_.inputs.begin(), chain_.inputs.end(), buffer) == chain_.inputs.end())
        chain_.inputs.push_back(buffer);
      return true;
    }
    return make(buffer, version);
  }

  bool make(BufferId buffer, std::int64_t version) {
    const auto& writers = f_.writers_[buffer.index()];
    if (version == 0 || f_.program_.buffer(buffer).persistent) return false;
    for (std::int64_t w = 0; w < version; ++w) {
      if (!add(writers[static_cast<std::size_t>(w)])) return false;
    }
    return true;
  }

  bool add(KernelId id) {
    if (std::find(chain_.kernels.begin(), chain_.kernels.end(), id) != chain_.kernels.end()) return true;
    const Kernel& kernel = f_.program_.kernel(id);
    if (kernel.phase != Phase::forward || chain_.kernels.size() == kMostKernels) return false;
    chain_.kernels.push_back(id);
    return std::all_of(kernel.reads.begin(), kernel.reads.end(), [&](const View& view) {
      return provide(view.buffer, f_.version_before(id, view.buffer));
    });
  }

  // Whatever the chain writes and somebody will read must end with the value that it had.
  [[nodiscard]] bool leaves_all_as_it_was() const {
    for (const auto id : chain_.kernels) {
      for (const auto& view : f_.program_.kernel(id).writes) {
        const BufferId buffer = view.buffer;
        if (!f_.is_live(buffer, at_)) continue;
        const auto last = std::find_if(chain_.kernels.rbegin(), chain_.kernels.rend(), [&](KernelId k) {
          const auto& writes = f_.program_.kernel(k).writes;
          return std::any_of(writes.begin(), writes.end(),
                             [&](const View& other) { return other.buffer == buffer; });
        });
        if (f_.version_before(*last, buffer) + 1 != f_.held(buffer, at_)) return false;
        // An input that the chain changes on its way would not be there for the kernels before.
        if (std::find(chain_.inputs.begin(), chain_.inputs.end(), buffer) != chain_.inputs.end())
          return false;
      }
    }
    return true;
  }

  const ChainFinder& f_;
  BufferId target_;
  std::int32_t at_;
  Chain chain_;
};

std::optional<ChainFinder::Chain> ChainFinder::find(const Gap& gap) const {
  if (program_.buffer(gap.buffer).persistent) return {};
  return Search(*this, gap).run();
}

}  // namespace vdnn
