#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <numeric>

#include "plan/schedule.h"

namespace vdnn {
namespace {

std::size_t stream_of(const PlanStep& step) {
  return index_of(step.stream());
}

// By stream, the last step known to have completed; -1: none.
using Clock = std::array<std::int32_t, kStreamCount>;
constexpr Clock kNothing = {-1, -1, -1, -1, -1};

void merge(Clock& clock, const Clock& other) {
  for (std::size_t s = 0; s < kStreamCount; ++s) clock[s] = std::max(clock[s], other[s]);
}

class Order {
 public:
  Order(const Program& program, std::vector<PlanStep>& steps, const std::vector<Placement>& placements)
      : program_(program),
        steps_(steps),
        placements_(placements),
        stays_(program.buffers.size()),
        required_(steps.size(), kNothing) {
    for (std::size_t i = 0; i < placements.size(); ++i) {
      if (placements[i].buffer.valid()) stays_[placements[i].buffer.index()].push_back(i);
    }
    first_access_.resize(placements.size(), -1);
    last_access_.resize(placements.size(), kNothing);
  }

  void run() {
    find_accesses();
    order_data();
    order_address_reuse();
    reduce();
  }

 private:
  std::size_t stay_at(BufferId buffer, std::int64_t step) const {
    for (const auto i : stays_[buffer.index()]) {
      if (placements_[i].steps.contains(step)) return i;
    }
    return placements_.size();
  }

  void access(std::size_t stay, std::int32_t step) {
    if (stay == placements_.size()) return;  // the verifier will say so
    if (first_access_[stay] < 0) first_access_[stay] = step;
    auto& last = last_access_[stay][stream_of(steps_[static_cast<std::size_t>(step)])];
    last = std::max(last, step);
  }

  void require(std::int32_t step, std::int32_t before) {
    if (before < 0) return;
    auto& last =
        required_[static_cast<std::size_t>(step)][stream_of(steps_[static_cast<std::size_t>(before)])];
    last = std::max(last, before);
  }

  void find_accesses() {
    for (std::size_t i = 0; i < placements_.size(); ++i) {
      if (!placements_[i].buffer.valid()) access(i, static_cast<std::int32_t>(placements_[i].steps.begin));
    }
    for (std::size_t s = 0; s < steps_.size(); ++s) {
      const auto step = static_cast<std::int32_t>(s);
      for_each_buffer(steps_[s], [&](BufferId buffer, bool, bool) { access(stay_at(buffer, step), step); });
    }
  }

  template <class Visit>
  void for_each_buffer(const PlanStep& step, Visit&& visit) const {
    if (step.kind != StepKind::launch) {
      visit(step.buffer, step.kind == StepKind::offload, step.kind == StepKind::prefetch);
      return;
    }
    for (const auto& view : program_.kernel(step.kernel).reads) visit(view.buffer, true, false);
    for (const auto& view : program_.kernel(step.kernel).writes) visit(view.buffer, false, true);
  }

  // Readers after the last writer, writers after all readers before them, both also through the tier.
  void order_data() {
    struct State {
      std::int32_t writer = -1;
      Clock readers = kNothing;
      std::int32_t offload = -1;
    };
    std::vector<State> states(program_.buffers.size());
    for (std::size_t s = 0; s < steps_.size(); ++s) {
      const auto step = static_cast<std::int32_t>(s);
      for_each_buffer(steps_[s], [&](BufferId buffer, bool reads, bool writes) {
        State& state = states[buffer.index()];
        if (reads) {
          require(step, state.writer);
          state.readers[stream_of(steps_[s])] = step;
        }
        if (writes) {
          require(step, state.writer);
          for (const auto reader : state.readers) {
            if (reader != step) require(step, reader);
          }
          state.writer = step;
        }
        if (steps_[s].kind == StepKind::offload) state.offload = step;
        if (steps_[s].kind == StepKind::prefetch) require(step, state.offload);
      });
    }
  }

  // Goes through the stays in order of time and remembers who had each byte last. Who had it before that one
  // is behind it already.
  void order_address_reuse() {
    std::vector<std::size_t> order(placements_.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](auto a, auto b) { return placements_[a].steps.begin < placements_[b].steps.begin; });
    for (const auto next : order) {
      const Placement& stay = placements_[next];
      if (first_access_[next] < 0 || stay.bytes <= 0) continue;
      const std::int64_t begin = stay.offset_bytes;
      const std::int64_t end = begin + stay.bytes;
      split_owners(begin);
      split_owners(end);
      const auto first = owners_.lower_bound(begin);
      const auto last = owners_.lower_bound(end);
      for (auto owner = first; owner != last; ++owner) {
        for (const auto step : last_access_[owner->second.stay]) require(first_access_[next], step);
      }
      owners_.erase(first, last);
      owners_[begin] = {end, next};
    }
  }

  // So that an owner's bytes begin or end here where they go across.
  void split_owners(std::int64_t at) {
    auto owner = owners_.upper_bound(at);
    if (owner == owners_.begin()) return;
    --owner;
    if (owner->first == at || owner->second.end <= at) return;
    owners_[at] = owner->second;
    owner->second.end = at;
  }

  // Keeps, per step, only the requirements that are not implied by its stream's order and other waits.
  void reduce() {
    std::vector<Clock> completed(steps_.size(), kNothing);  // when a step has completed, so have these
    Clock previous_on_stream = kNothing;
    for (std::size_t s = 0; s < steps_.size(); ++s) {
      PlanStep& step = steps_[s];
      const auto stream = stream_of(step);
      Clock clock = kNothing;
      if (previous_on_stream[stream] >= 0)
        clock = completed[static_cast<std::size_t>(previous_on_stream[stream])];
      for (const auto wait : step.waits) require(static_cast<std::int32_t>(s), wait);
      // Later steps imply more, so they go first.
      auto wanted = required_[s];
      std::sort(wanted.begin(), wanted.end(), std::greater<>());
      step.waits.clear();
      for (const auto wait : wanted) {
        if (wait < 0) continue;
        const auto on = stream_of(steps_[static_cast<std::size_t>(wait)]);
        if (on == stream || clock[on] >= wait) continue;
        step.waits.push_back(wait);
        merge(clock, completed[static_cast<std::size_t>(wait)]);
      }
      std::sort(step.waits.begin(), step.waits.end());
      clock[stream] = static_cast<std::int32_t>(s);
      completed[s] = clock;
      previous_on_stream[stream] = static_cast<std::int32_t>(s);
    }
  }

  struct Owner {
    std::int64_t end = 0;  // of its bytes
    std::size_t stay = 0;
  };

  const Program& program_;
  std::vector<PlanStep>& steps_;
  const std::vector<Placement>& placements_;
  std::vector<std::vector<std::size_t>> stays_;  // placements by buffer
  std::vector<Clock> required_;                  // by step
  std::vector<std::int32_t> first_access_;       // by placement
  std::map<std::int64_t, Owner> owners_;         // by the begin of their bytes
  std::vector<Clock> last_access_;               // by placement and stream
};

}  // namespace

void order_accesses(const Program& program, std::vector<PlanStep>& steps,
                    const std::vector<Placement>& placements) {
  Order(program, steps, placements).run();
}

}  // namespace vdnn
