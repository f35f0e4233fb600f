#include "vdnn/session.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstring>

#include "base/free_memory.h"
#include "train/batch_loader.h"
#include "train/initialize.h"
#include "train/plan_runner.h"
#include "vdnn/bytes.h"
#include "vdnn/error.h"
#include "vdnn/safetensors.h"

namespace vdnn {
namespace {

constexpr std::int64_t kPieceValues = 64 * 1024;

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// A plan may come from a file. Nobody is killed by the kernel: what is not there is refused before it is
// taken.
Plan accepted(const Job& job, Plan plan, std::int64_t given_back_bytes = 0) {
  if (const auto violations = verify_plan(job.program(), plan); !violations.empty()) {
    throw UsageError(
        fmt::format("the plan does not run this network with this batch, device, threads and optimizer: {}",
                    fmt::join(violations, "; ")));
  }
  const std::int64_t free = job.device().free_bytes + given_back_bytes;
  if (plan.peak_bytes <= free) return plan;
  throw BudgetError(
      fmt::format("cannot fit: {} needs {} ({} bytes), {} are free; lower the batch or give another policy",
                  plan.policy, format_bytes(plan.peak_bytes), plan.peak_bytes, format_bytes(free)),
      plan.peak_bytes);
}

PlanRunnerOptions runner_options(const Job& job, const SessionOptions& options) {
  return {.threads = job.threads(),
          .spill_directory = options.spill_directory,
          .tier = options.tier,
          .far_tier = options.far_tier,
          .poison = options.poison,
          .random_delay_seconds = options.random_delay_seconds,
          .delay_seed = options.seed};
}

ImageFormat image_format(const TrainingGraph& graph) {
  const Shape& shape = graph.tensor(graph.staged_images).shape;
  return {.channels = shape[1], .height = shape[2], .width = shape[3]};
}

}  // namespace

double RunTotals::hidden_copy_share() const {
  const double copies = times.offload_seconds + times.prefetch_seconds;
  return copies > 0 ? std::clamp(1 - times.stall_seconds / copies, 0.0, 1.0) : 1.0;
}

class Session::Impl {
 public:
  Impl(Job& job, Plan plan, std::shared_ptr<const Dataset> data, const SessionOptions& options)
      : graph_(job.graph()),
        executable_(job.executable()),
        options_(options),
        job_(job),
        runner_(std::make_unique<PlanRunner>(executable_, accepted(job, std::move(plan)),
                                             runner_options(job, options))) {
    initialize();
    const BoundTensor images = executable_.tensor(graph_.staged_images).at(0);
    const BoundTensor labels = executable_.tensor(graph_.staged_labels).at(0);
    const std::int64_t batch = graph_.tensor(graph_.staged_images).shape[0];
    loader_ = std::make_unique<BatchLoader>(
        std::move(data), image_format(graph_), batch, options.seed,
        [this, images, labels](std::int64_t position, std::span<const float> pixels, std::int32_t label) {
          const auto first = position * static_cast<std::int64_t>(pixels.size());
          context().write_values(images.buffer, arena_offset(images.buffer), first, pixels);
          const auto value = static_cast<float>(label);
          context().write_values(labels.buffer, arena_offset(labels.buffer), position, {&value, 1});
        },
        // A GPU's kernels leave the processors free.
        executable_.has_host_memory());
    loader_->start(0, nullptr);
  }

  StepReport step() {
    const auto begin = std::chrono::steady_clock::now();
    loader_->finish();
    context().measure(options_.measures_every_step || is_looked_at(step_));
    executor().begin_step({.seed = options_.seed, .step = step_, .learning_rate = options_.learning_rate});
    loader_->start(step_ + 1, [this] { context().wait_on_host(executor().batch_taken()); });
    executor().end_step();
    double loss = 0;
    for (const auto tensor : graph_.losses) {
      const BoundTensor bound = executable_.tensor(tensor).at(0);
      float value = 0;
      context().read_values(bound.buffer, arena_offset(bound.buffer), 0, {&value, 1});
      loss += value;
    }
    last_spans_ = context().take_spans();
    return {.step = step_++, .loss = loss, .seconds = seconds_since(begin)};
  }

  [[nodiscard]] const Plan& plan() const { return runner().plan(); }
  // Each stream runs the plan's steps of its kind in order, and beside them at most poison.
  [[nodiscard]] MeasuredStep last_step() const {
    if (last_spans_.empty()) return {};
    std::array<std::vector<const StreamSpan*>, kStreamCount> by_stream;
    MeasuredStep result{.begin_seconds = last_spans_.front().begin_seconds};
    for (const auto& span : last_spans_) {
      result.begin_seconds = std::min(result.begin_seconds, span.begin_seconds);
      if (span.name != kPoisonSpan) by_stream[index_of(span.stream)].push_back(&span);
    }
    std::array<std::size_t, kStreamCount> next{};
    for (const auto& step : plan().steps) {
      const auto stream = index_of(step.stream());
      const StreamSpan& span = *by_stream[stream].at(next[stream]++);
      const auto nanoseconds = [&](double seconds) {
        return std::llround(1e9 * (seconds - result.begin_seconds));
      };
      result.times.push_back({nanoseconds(span.begin_seconds), nanoseconds(span.end_seconds)});
    }
    return result;
  }

  [[nodiscard]] std::int64_t steps_per_epoch() const { return loader_->steps_per_epoch(); }

  [[nodiscard]] RunTotals totals() const {
    RunTotals all = before_;
    add(all);
    all.resident_bytes = highest_resident_set_bytes();
    return all;
  }

  void change_plan(Plan next) {
    if (next.assignment != plan().assignment)
      throw UsageError("another plan must run the same candidates of every kernel, or results would change");
    next = accepted(job_, std::move(next), plan().peak_bytes);
    loader_->finish();
    RunTotals before = before_;
    add(before);
    hand_over(executable_, runner_, std::move(next), runner_options(job_, options_));
    before_ = std::move(before);
    last_spans_.clear();
  }

  void visit_weights(const WeightVisitor& visit) {
    std::vector<float> values;
    for (const auto& trained : graph_.parameters) {
      for_each_piece(trained.tensor, [&](const BoundTensor& bound, std::int64_t first, std::int64_t count) {
        values.resize(static_cast<std::size_t>(count));
        runner().values().read(bound.buffer, first - bound.first, values);
        visit(trained.parameter, first, values);
      });
    }
    runner().values().finish();
  }

 private:
  // The first steps, and some before each fiftieth: enough to see whether times are as assumed.
  static bool is_looked_at(std::int64_t step) { return step < 3 || step % 50 >= 47; }

  template <class Visit>
  void for_each_piece(TensorId tensor, Visit&& visit) {
    for (const auto& bound : executable_.tensor(tensor)) {
      for (std::int64_t at = 0; at < bound.count; at += kPieceValues) {
        visit(bound, bound.first + at, std::min(kPieceValues, bound.count - at));
      }
    }
  }

  // Of what is always resident between steps: the staged batch and the losses.
  [[nodiscard]] std::int64_t arena_offset(BufferId buffer) const {
    return runner().executor().place_between_steps(buffer).offset_bytes;
  }

  [[nodiscard]] PlanRunner& runner() const {
    if (!runner_) throw DeviceError("the session ended when its plan could not be changed");
    return *runner_;
  }
  DeviceContext& context() { return runner().context(); }
  Executor& executor() { return runner().executor(); }

  // Adds what the present plan has done.
  void add(RunTotals& totals) const {
    const StreamTimes times = runner().context().times();
    totals.peak_bytes = std::max(totals.peak_bytes, runner().context().measured_peak_bytes());
    totals.executed_peak_bytes =
        std::max(totals.executed_peak_bytes, runner().executor().executed_peak_bytes());
    totals.offloaded_bytes += runner().executor().offloaded_bytes();
    totals.prefetched_bytes += runner().executor().prefetched_bytes();
    totals.times.kernel_seconds += times.kernel_seconds;
    totals.times.stall_seconds += times.stall_seconds;
    totals.times.offload_seconds += times.offload_seconds;
    totals.times.prefetch_seconds += times.prefetch_seconds;
    totals.tier = runner().tiers_description();
  }

  void write(TensorId tensor, const std::function<void(std::int64_t first, std::span<float> values)>& make) {
    std::vector<float> values;
    for_each_piece(tensor, [&](const BoundTensor& bound, std::int64_t first, std::int64_t count) {
      values.resize(static_cast<std::size_t>(count));
      make(first, values);
      runner().values().write(bound.buffer, first - bound.first, values);
    });
  }

  void initialize() {
    const auto zero = [](std::int64_t, std::span<float> values) {
      std::fill(values.begin(), values.end(), 0.0F);
    };
    for (const auto& trained : graph_.parameters) {
      write(trained.tensor, [&](std::int64_t first, std::span<float> values) {
        initial_values(trained.parameter, options_.seed, trained.random_stream, first, values);
      });
      for (const auto state : trained.optimizer_state) write(state, zero);
    }
    runner().values().finish();
  }

  const TrainingGraph& graph_;
  Executable& executable_;
  SessionOptions options_;
  Job& job_;
  std::unique_ptr<PlanRunner> runner_;
  RunTotals before_;                     // of earlier plans
  std::unique_ptr<BatchLoader> loader_;  // last: its thread writes into the context
  std::int64_t step_ = 0;
  std::vector<StreamSpan> last_spans_;
};

Session::Session(Job& job, Plan plan, std::shared_ptr<const Dataset> data, const SessionOptions& options)
    : impl_(std::make_unique<Impl>(job, std::move(plan), std::move(data), options)) {}
Session::~Session() = default;

StepReport Session::step() {
  return impl_->step();
}
const Plan& Session::plan() const {
  return impl_->plan();
}
MeasuredStep Session::last_step() const {
  return impl_->last_step();
}
void Session::change_plan(Plan plan) {
  impl_->change_plan(std::move(plan));
}
RunTotals Session::totals() const {
  return impl_->totals();
}
std::int64_t Session::steps_per_epoch() const {
  return impl_->steps_per_epoch();
}
void Session::visit_weights(const WeightVisitor& visit) {
  impl_->visit_weights(visit);
}

std::string Session::weights_digest() {
  const std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state(XXH3_createState(), XXH3_freeState);
  XXH3_128bits_reset(state.get());
  visit_weights([&](const Parameter& parameter, std::int64_t first, std::span<const float> values) {
    if (first == 0) XXH3_128bits_update(state.get(), parameter.name.data(), parameter.name.size());
    XXH3_128bits_update(state.get(), values.data(), values.size_bytes());
  });
  const auto digest = XXH3_128bits_digest(state.get());
  return fmt::format("{:016x}{:016x}", digest.high64, digest.low64);
}

void Session::save(const std::string& path) {
  std::vector<TensorHeader> headers;
  visit_weights([&](const Parameter& parameter, std::int64_t first, std::span<const float>) {
    if (first == 0) headers.push_back({parameter.name, parameter.shape.dims()});
  });
  SafetensorsWriter writer(path, headers);
  visit_weights(
      [&](const Parameter&, std::int64_t, std::span<const float> values) { writer.append(values); });
  writer.finish();
}

}  // namespace vdnn
