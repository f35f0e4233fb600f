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
#include "train/values_between_steps.h"
#include "vdnn/bytes.h"
#include "vdnn/error.h"
#include "vdnn/executor.h"
#include "vdnn/safetensors.h"

namespace vdnn {
namespace {

constexpr std::int64_t kPieceValues = 64 * 1024;

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

std::shared_ptr<Tier> open_tier(const Plan& plan, const SessionOptions& options) {
  if (plan.tier_bytes == 0) return nullptr;
  std::shared_ptr<Tier> tier = options.tier;
  if (!tier) tier = open_disk_tier({.directory = options.spill_directory});
  tier->reserve(plan.tier_bytes);
  return tier;
}

// A plan may come from a file. Nobody is killed by the kernel: what is not there is refused before it is
// taken.
Plan accepted(const Job& job, Plan plan) {
  if (const auto violations = verify_plan(job.program(), plan); !violations.empty()) {
    throw UsageError(
        fmt::format("the plan does not run this network with this batch, device, threads and optimizer: {}",
                    fmt::join(violations, "; ")));
  }
  const std::int64_t free = job.device().free_bytes;
  if (plan.peak_bytes <= free) return plan;
  throw BudgetError(
      fmt::format("cannot fit: {} needs {} ({} bytes), {} are free; lower the batch or give another policy",
                  plan.policy, format_bytes(plan.peak_bytes), plan.peak_bytes, format_bytes(free)),
      plan.peak_bytes);
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
        plan_(accepted(job, std::move(plan))),
        tier_(open_tier(plan_, options)),
        context_(executable_.open({.budget_bytes = plan_.budget_bytes,
                                   .planned_bytes = plan_.peak_bytes,
                                   .threads = job.threads(),
                                   .random_delay_seconds = options.random_delay_seconds,
                                   .delay_seed = options.seed})),
        executor_(*context_, executable_.program(), plan_, tier_.get(), {.poison = options.poison}),
        values_(*context_, executor_, executable_.program(), tier_.get()) {
    if (options.poison) context_->poison(0, plan_.peak_bytes);
    context_->synchronize();
    context_->enable_spans();
    initialize();
    const BoundTensor images = executable_.tensor(graph_.staged_images).at(0);
    const BoundTensor labels = executable_.tensor(graph_.staged_labels).at(0);
    const std::int64_t batch = graph_.tensor(graph_.staged_images).shape[0];
    loader_ = std::make_unique<BatchLoader>(
        std::move(data), image_format(graph_), batch, options.seed,
        [this, images, labels](std::int64_t position, std::span<const float> pixels, std::int32_t label) {
          const auto first = position * static_cast<std::int64_t>(pixels.size());
          context_->write_values(images.buffer, arena_offset(images.buffer), first, pixels);
          const auto value = static_cast<float>(label);
          context_->write_values(labels.buffer, arena_offset(labels.buffer), position, {&value, 1});
        });
    loader_->start(0, nullptr);
  }

  StepReport step() {
    const auto begin = std::chrono::steady_clock::now();
    loader_->finish();
    executor_.begin_step({.seed = options_.seed, .step = step_, .learning_rate = options_.learning_rate});
    loader_->start(step_ + 1, [this] { context_->wait_on_host(executor_.batch_taken()); });
    executor_.end_step();
    double loss = 0;
    for (const auto tensor : graph_.losses) {
      const BoundTensor bound = executable_.tensor(tensor).at(0);
      float value = 0;
      context_->read_values(bound.buffer, arena_offset(bound.buffer), 0, {&value, 1});
      loss += value;
    }
    last_spans_ = context_->take_spans();
    return {.step = step_++, .loss = loss, .seconds = seconds_since(begin)};
  }

  [[nodiscard]] const Plan& plan() const { return plan_; }
  // Each stream runs the plan's steps of its kind in order, and beside them at most poison.
  [[nodiscard]] MeasuredStep last_step() const {
    if (last_spans_.empty()) return {};
    constexpr std::array<StreamKind, 3> kStreams = {StreamKind::compute, StreamKind::offload,
                                                    StreamKind::prefetch};  // by kind of step
    std::array<std::vector<const StreamSpan*>, kStreamCount> by_stream;
    MeasuredStep result{.begin_seconds = last_spans_.front().begin_seconds};
    for (const auto& span : last_spans_) {
      result.begin_seconds = std::min(result.begin_seconds, span.begin_seconds);
      if (span.name != kPoisonSpan) by_stream[static_cast<std::size_t>(span.stream)].push_back(&span);
    }
    std::array<std::size_t, kStreamCount> next{};
    for (const auto& step : plan_.steps) {
      const auto stream = static_cast<std::size_t>(kStreams[static_cast<std::size_t>(step.kind)]);
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
    return {.peak_bytes = context_->measured_peak_bytes(),
            .executed_peak_bytes = executor_.executed_peak_bytes(),
            .offloaded_bytes = executor_.offloaded_bytes(),
            .prefetched_bytes = executor_.prefetched_bytes(),
            .times = context_->times(),
            .resident_bytes = highest_resident_set_bytes(),
            .tier = tier_ ? tier_->description() : ""};
  }

  void visit_weights(const WeightVisitor& visit) {
    std::vector<float> values;
    for (const auto& trained : graph_.parameters) {
      for_each_piece(trained.tensor, [&](const BoundTensor& bound, std::int64_t first, std::int64_t count) {
        values.resize(static_cast<std::size_t>(count));
        values_.read(bound.buffer, first - bound.first, values);
        visit(trained.parameter, first, values);
      });
    }
    values_.finish();
  }

 private:
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
    return executor_.place_between_steps(buffer).offset_bytes;
  }

  void write(TensorId tensor, const std::function<void(std::int64_t first, std::span<float> values)>& make) {
    std::vector<float> values;
    for_each_piece(tensor, [&](const BoundTensor& bound, std::int64_t first, std::int64_t count) {
      values.resize(static_cast<std::size_t>(count));
      make(first, values);
      values_.write(bound.buffer, first - bound.first, values);
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
    values_.finish();
  }

  const TrainingGraph& graph_;
  Executable& executable_;
  SessionOptions options_;
  Plan plan_;
  std::shared_ptr<Tier> tier_;
  std::unique_ptr<DeviceContext> context_;
  Executor executor_;
  ValuesBetweenSteps values_;
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
