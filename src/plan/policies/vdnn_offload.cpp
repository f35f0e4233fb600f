#include "plan/policies/vdnn_offload.h"

#include <algorithm>
#include <optional>

namespace vdnn {
namespace {

class StaticOffload {
 public:
  StaticOffload(const PlanProblem& problem, OffloadedLayers layers)
      : program_(problem.program),
        uses_(problem.uses),
        layers_(layers),
        passes_(find_passes(problem.program)),
        pass_of_(pass_of_kernels(passes_)) {}

  std::vector<Movement> run() {
    for (std::size_t b = 0; b < program_.buffers.size(); ++b) {
      if (!may_move(program_.buffers[b])) continue;
      if (auto movement = offload(BufferId(b))) {
        movements_.push_back(*movement);
      }
    }
    prefetch();
    return std::move(movements_);
  }

 private:
  // The trip down. Nothing where no layer of the policy's class reads the map, or nobody reads it backward
  // (it is then released without a copy), or it would come back before it has left.
  [[nodiscard]] std::optional<Movement> offload(BufferId id) const {
    const Buffer& buffer = program_.buffer(id);
    std::int32_t last_pass = -1;        // forward, of all uses
    std::int32_t offloading_pass = -1;  // of the last consumer in the policy's class
    std::int32_t first_backward = -1;
    for (const auto& use : uses_[id.index()]) {
      const auto pass = pass_of_[static_cast<std::size_t>(use.launch)];
      const Pass& in = passes_[static_cast<std::size_t>(pass)];
      if (in.backward) {
        if (first_backward < 0) first_backward = pass;
        continue;
      }
      last_pass = pass;
      // Whoever read what an in-place layer overwrites does not count: the map is what that layer leaves.
      if (use.writes) offloading_pass = -1;
      if (use.reads && !use.writes && offloads(in.layer)) offloading_pass = pass;
    }
    if (buffer.saved_state) {
      if (layers_ != OffloadedLayers::feature_extraction || !offloads(buffer.made_by)) return {};
      offloading_pass = last_pass + 1;  // it is complete only when its layer ends
    }
    if (offloading_pass < 0 || first_backward < 0) return {};
    const auto release_pass = std::max(last_pass, offloading_pass) + 1;
    if (release_pass >= first_backward) return {};
    return Movement{.buffer = id,
                    .offload_with = pass_begin(offloading_pass),
                    .offload_done = pass_begin(offloading_pass + 1),
                    .release = pass_begin(release_pass)};
  }

  [[nodiscard]] bool offloads(LayerId id) const {
    const Layer& layer = program_.layers[id.index()];
    if (layer.layer_class != LayerClass::feature_extraction) return false;
    if (layers_ == OffloadedLayers::convolution) return layer.kind == OpKind::convolution;
    return !layer.in_place && layer.kind != OpKind::load_batch;
  }

  // The trip back: paper, section 3.3 and figure 10.
  void prefetch() {
    std::vector<std::vector<std::size_t>> needed(passes_.size());  // movements by the pass that needs them
    for (std::size_t i = 0; i < movements_.size(); ++i) {
      needed[static_cast<std::size_t>(first_backward_pass(movements_[i].buffer))].push_back(i);
    }
    for (std::size_t m = 0; m < passes_.size(); ++m) {
      if (!passes_[m].backward) continue;
      fetch(needed[m], m, m);  // what no window reached: on demand
      const auto found = window(needed, m);
      if (found) fetch(needed[*found], m, m + 1);
    }
  }

  [[nodiscard]] std::optional<std::size_t> window(const std::vector<std::vector<std::size_t>>& needed,
                                                  std::size_t m) const {
    for (std::size_t pass = m + 1; pass < passes_.size(); ++pass) {
      if (!needed[pass].empty()) return pass;
      if (program_.layers[passes_[pass].layer.index()].kind == OpKind::convolution) return {};
    }
    return {};
  }

  void fetch(std::vector<std::size_t>& wanted, std::size_t with_pass, std::size_t done_pass) {
    for (const auto i : wanted) {
      movements_[i].prefetch_with = pass_begin(static_cast<std::int32_t>(with_pass));
      movements_[i].prefetch_done = pass_begin(static_cast<std::int32_t>(done_pass));
    }
    wanted.clear();
  }

  [[nodiscard]] std::int32_t first_backward_pass(BufferId id) const {
    for (const auto& use : uses_[id.index()]) {
      const auto pass = pass_of_[static_cast<std::size_t>(use.launch)];
      if (passes_[static_cast<std::size_t>(pass)].backward) return pass;
    }
    return -1;
  }

  [[nodiscard]] std::int32_t pass_begin(std::int32_t pass) const {
    return passes_[static_cast<std::size_t>(pass)].begin;
  }

  const Program& program_;
  const Uses& uses_;
  OffloadedLayers layers_;
  std::vector<Pass> passes_;
  std::vector<std::int32_t> pass_of_;
  std::vector<Movement> movements_;
};

}  // namespace

Decisions offload_inputs(const PlanProblem& problem, OffloadedLayers layers) {
  return {.movements = StaticOffload(problem, layers).run()};
}

}  // namespace vdnn
