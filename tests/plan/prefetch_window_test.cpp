#include <gtest/gtest.h>

#include <map>
#include <ostream>
#include <set>

#include "plan/lowered.h"
#include "vdnn/zoo.h"

// The prefetch window of the paper (section 3.3), walked here once more over whole networks: each layer's
// backward pass fetches for the first layer behind it that has something left to fetch, unless a convolution
// that has nothing lies between; what no window reached comes when it is needed.
namespace vdnn::testing {
namespace {

struct Case {
  const char* network;
  std::int64_t image;
  const char* policy;
  friend std::ostream& operator<<(std::ostream& out, const Case& c) {
    return out << c.network << ' ' << c.policy;
  }
};

class PrefetchWindow : public ::testing::TestWithParam<Case> {
 protected:
  PrefetchWindow()
      : program_(lowered(make_model(GetParam().network, {.batch = 4, .image = GetParam().image}))),
        plan_(planned(program_, GetParam().policy)) {
    find_passes();
  }

  using Fetches =
      std::map<std::size_t, std::set<std::size_t>>;  // by backward pass, the passes that it fetches for

  // Those of the plan.
  Fetches fetched() const {
    Fetches fetches;
    std::set<std::size_t> waiting;
    for (const auto& step : plan_.steps) {
      if (step.kind == StepKind::prefetch) waiting.insert(needed_in_.at(step.buffer));
      if (step.kind != StepKind::launch || waiting.empty()) continue;
      fetches[pass_of_[step.kernel.index()]].merge(waiting);
      waiting.clear();
    }
    return fetches;
  }

  // Those of the rule.
  Fetches expected() const {
    std::set<std::size_t> left;
    for (const auto& step : plan_.steps) {
      if (step.kind == StepKind::offload) left.insert(needed_in_.at(step.buffer));
    }
    Fetches fetches;
    for (std::size_t m = 0; m < passes_.size(); ++m) {
      if (!passes_[m].backward) continue;
      if (left.erase(m) > 0) fetches[m].insert(m);
      for (std::size_t n = m + 1; n < passes_.size(); ++n) {
        if (left.erase(n) > 0) {
          fetches[m].insert(n);
          break;
        }
        if (program_.layers[passes_[n].layer.index()].kind == OpKind::convolution) break;
      }
    }
    return fetches;
  }

 private:
  struct Pass {
    LayerId layer;
    bool backward = false;
  };

  void find_passes() {
    for (std::size_t k = 0; k < program_.kernels.size(); ++k) {
      const Kernel& kernel = program_.kernels[k];
      const bool backward = kernel.phase == Phase::backward || kernel.phase == Phase::update;
      if (passes_.empty() || passes_.back().layer != kernel.layer || passes_.back().backward != backward)
        passes_.push_back({kernel.layer, backward});
      pass_of_.push_back(passes_.size() - 1);
      if (!backward) continue;
      for (const auto& view : kernel.reads) needed_in_.try_emplace(view.buffer, passes_.size() - 1);
    }
  }

  Program program_;
  Plan plan_;
  std::vector<Pass> passes_;
  std::vector<std::size_t> pass_of_;           // by kernel
  std::map<BufferId, std::size_t> needed_in_;  // the first backward pass that reads it
};

TEST_P(PrefetchWindow, FetchesWhatTheRuleSays) {
  EXPECT_EQ(fetched(), expected());
  std::size_t ahead = 0;
  for (const auto& [pass, needed] : expected())
    ahead += needed.contains(pass) ? needed.size() - 1 : needed.size();
  EXPECT_GT(ahead, 4U);  // most come ahead of their need
}

INSTANTIATE_TEST_SUITE_P(Networks, PrefetchWindow,
                         ::testing::Values(Case{"vgg-16", 64, "vdnn-all"}, Case{"vgg-16", 64, "vdnn-conv"},
                                           Case{"vgg-116", 64, "vdnn-all"},
                                           Case{"googlenet", 128, "vdnn-all"},
                                           Case{"googlenet", 128, "vdnn-conv"},
                                           Case{"resnet-50", 64, "vdnn-all"}));

}  // namespace
}  // namespace vdnn::testing
