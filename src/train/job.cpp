#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/cpu_count.h"
#include "base/free_memory.h"
#include "plan/policy.h"
#include "run/cost_cache.h"
#include "run/link_probe.h"
#include "run/step_times.h"
#include "vdnn/bounds.h"
#include "vdnn/bytes.h"
#include "vdnn/error.h"
#include "vdnn/session.h"

namespace vdnn {
namespace {

// Left for the process itself and for others when a budget is not given.
constexpr std::int64_t kReserveBytes = 512 * kMiB;

constexpr const char* kBest = "auto";  // of the policies; no other fits in less

}  // namespace

class Job::Impl {
 public:
  Impl(const Graph& graph, const JobOptions& options)
      : options_(options),
        threads_(options.threads > 0 ? options.threads : usable_cpu_count()),
        device_(open_device(options.device, options.device_options)),
        graph_(differentiate(graph, options.optimizer)),
        executable_(device_->lower(graph_, threads_)) {
    if (options_.cache_directory.empty()) options_.cache_directory = default_cache_directory();
    if (options.host_memory_bytes >= 0 && !executable_->has_host_memory())
      throw UsageError(
          fmt::format("device {} has no memory of its own for which host memory could be the tier below: "
                      "--host-memory is for GPUs",
                      options.device));
  }

  Plan plan(PlanRequest request) {
    const bool weighs = find_policy(request.policy).weighs_times;
    if (weighs) {
      if (auto still = plan_where_all_fits(request)) return std::move(*still);
      measure(KernelsToTime::all);
      request.links = links_or_assumed();
    } else {
      request.links.near_capacity_bytes = std::min(request.links.near_capacity_bytes, near_capacity_bytes());
    }
    if (!weighs && needs_times(request)) {
      measure(KernelsToTime::with_a_choice);
    }
    return checked(request, make_plan(executable_->program(), request));
  }

  Plan checked(const PlanRequest& request, PlanResult result) const {
    if (!result.plan) {
      std::string why = explain(executable_->program(), *result.infeasible, request.budget_bytes);
      if (request.policy != kBest) why += fmt::format(", or use {}", kBest);
      throw BudgetError(why, result.infeasible->least_budget_bytes);
    }
    const auto violations = verify_plan(executable_->program(), *result.plan);
    if (!violations.empty()) {
      throw Error(
          fmt::format("the plan of {} breaks its rules: {}", request.policy, fmt::join(violations, "; ")));
    }
    return std::move(*result.plan);
  }

  // Where nothing need move, only kernels with a choice have to be timed, and no copies.
  std::optional<Plan> plan_where_all_fits(const PlanRequest& request) {
    const Program& program = executable_->program();
    if (time_bound(program, request.budget_bytes, {}).kernel.valid()) return {};
    if (needs_times(request)) measure(KernelsToTime::with_a_choice);
    PlanResult result = make_plan(program, request);
    const auto fastest =
        request.assignment ? *request.assignment : assign_candidates(program, Algorithms::performance);
    const bool still = result.plan && result.plan->steps.size() == program.kernels.size() &&
                       result.plan->assignment == fastest;
    if (!still) return {};
    return checked(request, std::move(result));
  }

  Plan plan_best(std::int64_t budget_bytes, std::optional<Algorithms> algorithms) {
    if (!algorithms) return plan({.policy = kBest, .budget_bytes = budget_bytes});
    std::int64_t least = INT64_MAX;
    std::string why;
    for (const char* policy : {"baseline", "vdnn-conv", "vdnn-all"}) {
      try {
        return plan({.policy = policy, .algorithms = *algorithms, .budget_bytes = budget_bytes});
      } catch (const BudgetError& error) {
        if (error.least_budget_bytes() < least) why = error.what();
        least = std::min(least, error.least_budget_bytes());
      }
    }
    throw BudgetError(why, least);
  }

  static bool needs_times(const PlanRequest& request) {
    if (request.assignment) return false;
    return request.algorithms == Algorithms::performance || find_policy(request.policy).chooses_algorithms;
  }

  // Whatever the budget: the same times under each, so that the least budget that is stated is one that
  // works.
  void measure(KernelsToTime which) {
    if (executable_->described_links() || (measured_ && *measured_ >= which)) return;
    measure_kernels(*executable_, which, options_.cache_directory, device_->description().free_bytes,
                    threads_, options_.on_measure);
    measured_ = which;
  }

  Links links() {
    if (links_) return *links_;
    if (options_.links) {
      links_ = options_.links;
    } else if (const auto described = executable_->described_links()) {
      links_ = *described;
      links_->near_capacity_bytes = near_capacity_bytes();
    } else {
      links_ = measured_links();
    }
    return *links_;
  }

  // To host memory, and to disk where that is capped; to disk alone where the device's memory is the host's.
  Links measured_links() {
    const auto measured = [this](Tier& tier) {
      return cached_links(*executable_, tier, threads_, options_.cache_directory);
    };
    const auto disk = open_disk_tier({.directory = options_.spill_directory});
    const auto host = executable_->open_host_memory();
    if (!host) return measured(*disk);
    Links links = measured(*host);
    const Links far = measured(*disk);
    links.near_capacity_bytes = near_capacity_bytes();
    links.far_offload_bytes_per_s = far.offload_bytes_per_s;
    links.far_prefetch_bytes_per_s = far.prefetch_bytes_per_s;
    return links;
  }

  [[nodiscard]] std::int64_t near_capacity_bytes() const {
    if (options_.links) return options_.links->near_capacity_bytes;
    if (!executable_->has_host_memory()) return Links{}.near_capacity_bytes;
    if (options_.host_memory_bytes >= 0) return options_.host_memory_bytes;
    if (executable_->described_links()) return Links{}.near_capacity_bytes;
    return std::max<std::int64_t>(0, free_memory_bytes() - kReserveBytes);
  }

  // A plan does not hang on whether the disk can be used now.
  Links links_or_assumed() {
    try {
      return links();
    } catch (const StorageError&) {
      return {};
    }
  }

  JobOptions options_;
  int threads_;
  std::optional<Links> links_;
  std::unique_ptr<Device> device_;
  TrainingGraph graph_;
  std::unique_ptr<Executable> executable_;
  std::optional<KernelsToTime> measured_;
};

Job::Job(const Graph& graph, const JobOptions& options) : impl_(std::make_unique<Impl>(graph, options)) {}
Job::~Job() = default;

const TrainingGraph& Job::graph() const {
  return impl_->graph_;
}
const Program& Job::program() const {
  return impl_->executable_->program();
}
DeviceDescription Job::device() const {
  return impl_->device_->description();
}
Executable& Job::executable() {
  return *impl_->executable_;
}
bool Job::is_described() const {
  return impl_->executable_->described_links().has_value();
}
int Job::threads() const {
  return impl_->threads_;
}
Plan Job::plan(const PlanRequest& request) {
  return impl_->plan(request);
}

Plan Job::plan_best(std::int64_t budget_bytes, std::optional<Algorithms> algorithms) {
  return impl_->plan_best(budget_bytes, algorithms);
}

void Job::measure_all_kernels() {
  impl_->measure(KernelsToTime::all);
}

Program Job::program_in_steps() const {
  if (impl_->executable_->described_links()) return program();
  return with_step_times(program(), impl_->executable_->cost_key(impl_->threads_),
                         impl_->options_.cache_directory);
}

void Job::keep_step_times(const Plan& plan, const std::vector<StepTimes>& steps) {
  vdnn::keep_step_times(program(), plan, steps, impl_->executable_->cost_key(impl_->threads_),
                        impl_->options_.cache_directory);
}

Links Job::links() {
  return impl_->links();
}

Links Job::links_or_assumed() {
  return impl_->links_or_assumed();
}

std::int64_t Job::default_budget_bytes() const {
  return std::max<std::int64_t>(kMiB, device().free_bytes - kReserveBytes) / kMiB * kMiB;
}

}  // namespace vdnn
