#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "vdnn/interval.h"
#include "vdnn/links.h"
#include "vdnn/program.h"
#include "vdnn/stream.h"

namespace vdnn {

// One entry of a step's schedule. Steps are issued in order; launches run on the compute stream,
// offloads and prefetches on the copy stream of their direction and tier, each stream in order.
enum class StepKind { launch, offload, prefetch };

// Below the device: where there are two, the nearest is the faster, and the far one takes what does not fit.
enum class TierLevel { near, far };

struct PlanStep {
  StepKind kind = StepKind::launch;
  KernelId kernel;  // launch
  BufferId buffer;  // offload and prefetch, and so the two below
  TierLevel tier = TierLevel::near;
  std::int64_t tier_offset_bytes = 0;
  // P10: earlier steps on other streams that must have completed before this one starts.
  std::vector<std::int32_t> waits;
  friend bool operator==(const PlanStep&, const PlanStep&) = default;

  [[nodiscard]] StreamKind stream() const {
    if (kind == StepKind::launch) return StreamKind::compute;
    if (kind == StepKind::offload)
      return tier == TierLevel::near ? StreamKind::offload : StreamKind::far_offload;
    return tier == TierLevel::near ? StreamKind::prefetch : StreamKind::far_prefetch;
  }
};

// A buffer's stay at one address, or a launch's workspace (no buffer), in a half-open interval of steps.
struct Placement {
  BufferId buffer;  // not valid: workspace of the launch at steps.begin
  Interval steps;
  std::int64_t offset_bytes = 0;
  std::int64_t bytes = 0;
  friend bool operator==(const Placement&, const Placement&) = default;
};

// Mixed: chosen kernel by kernel, as vdnn-dyn does; not to be asked for.
enum class Algorithms { memory, performance, mixed };
std::string_view algorithms_name(Algorithms algorithms);

// An attempt of a policy that searches.
struct PassTried {
  std::string name;
  std::int64_t peak_bytes = 0;  // what it would take
  bool fits = false;
  friend bool operator==(const PassTried&, const PassTried&) = default;
};

// Why a searching policy gave a kernel its candidate: the fastest, or the one that the room left for it.
struct AlgorithmChoice {
  KernelId kernel;
  int fastest = 0;              // the candidate it started from
  std::int64_t room_bytes = 0;  // what the budget left for its workspace
  friend bool operator==(const AlgorithmChoice&, const AlgorithmChoice&) = default;
};

// All that a training step does with device memory, decided before it starts. A value.
struct Plan {
  std::uint64_t program_fingerprint = 0;
  std::string policy;
  Algorithms algorithms = Algorithms::memory;
  std::int64_t budget_bytes = 0;
  std::vector<int> assignment;  // candidate by kernel; decides the results' bits
  std::vector<PlanStep> steps;
  std::vector<Placement> placements;
  std::int64_t peak_bytes = 0;           // highest address plus one
  std::int64_t tier_bytes = 0;           // what the nearest tier must hold
  std::int64_t far_tier_bytes = 0;       // and the one behind it
  std::vector<PassTried> passes;         // of a policy that searches, in order; the last one is this plan
  std::vector<AlgorithmChoice> choices;  // of a policy that searches, for kernels with several candidates
  friend bool operator==(const Plan&, const Plan&) = default;
};

// Why a budget cannot hold, and what would.
struct Infeasible {
  std::int64_t least_budget_bytes = 0;
  KernelId kernel;                     // where the most is needed
  std::vector<BufferId> live_buffers;  // there, largest first
  std::int64_t workspace_bytes = 0;    // of the kernel
  std::vector<KernelId> overflowing;   // that run while something lies above the budget
};

struct PlanRequest {
  std::string policy;
  Algorithms algorithms = Algorithms::memory;
  std::int64_t budget_bytes = 0;
  // Fixes the kernels instead of `algorithms`, as `verify` and resuming need it.
  std::optional<std::vector<int>> assignment;
  Links links{};  // how fast copies are assumed to be, for policies that weigh them
};

struct PlanResult {
  std::optional<Plan> plan;
  std::optional<Infeasible> infeasible;  // exactly where there is no plan
};

// A pure function: no device, no clock, the same plan for the same request (P7).
// Throws UsageError for an unknown policy, with the nearest names.
PlanResult make_plan(const Program& program, const PlanRequest& request);

// "cannot fit: conv3_2 backward needs 3.1 GiB, budget 2.5 GiB, least budget ...".
std::string explain(const Program& program, const Infeasible& infeasible, std::int64_t budget_bytes);

struct PolicyInfo {
  std::string name;
  std::string summary;
  bool offloads = false;
  bool unlimited = false;             // its plans take what they need, whatever the budget
  bool chooses_algorithms = false;    // the request's algorithms do not matter to it
  bool still_where_all_fits = false;  // P5: with enough memory it moves nothing and runs the fastest kernels
  bool weighs_times = false;          // its plans hang on measured times: of every kernel, and of copies
};
std::vector<PolicyInfo> policies();

// Candidate by kernel. Memory: the least workspace. Performance: the fastest as measured; among those within
// 3 % of it, which measurements cannot tell apart, the one with the least workspace.
std::vector<int> assign_candidates(const Program& program, Algorithms algorithms);

// docs/plan_format.md. read throws ModelError for anything that is not a plan, or would not be the same when
// written again (P8).
std::string to_json(const Plan& plan);
Plan read_plan(std::string_view json);

// Checks a plan against its program by code that shares nothing with the planner. Each violation
// begins with the rule's name, "P1: ...". Empty: the plan is sound.
std::vector<std::string> verify_plan(const Program& program, const Plan& plan);

// For plans that come from files, by a sound one's policy: "P7: ..." where that policy makes another plan
// from the same request. Empty for policies that this vdnn does not know, under whose names people make plans
// of their own.
std::vector<std::string> verify_origin(const Program& program, const Plan& plan);

// The plan on a virtual clock.
struct Simulation {
  double step_seconds = 0;
  double kernel_seconds = 0;
  double recompute_seconds = 0;  // of the kernels' time, in launches after a kernel's first
  std::int64_t recomputing_launches = 0;
  double stall_seconds = 0;
  double copy_seconds = 0;
  std::int64_t peak_bytes = 0;    // highest address in use plus one (P4)
  double average_live_bytes = 0;  // weighted by time
  std::int64_t peak_live_bytes = 0;
  // The same of feature-extraction layers alone, which is what vDNN manages (paper, section 3.1): their maps,
  // gradient maps, weights, weight gradients and workspace.
  double managed_average_bytes = 0;
  std::int64_t managed_peak_bytes = 0;
  std::array<std::int64_t, kRoleCount> peak_bytes_by_role{};  // of the live bytes at their peak
  std::int64_t offloaded_bytes = 0;
  std::int64_t prefetched_bytes = 0;
  std::vector<Interval> step_nanoseconds;  // when each step of the plan runs

  // One minus stalls over copies; 1 where nothing is copied.
  [[nodiscard]] double hidden_copy_share() const;
};
Simulation simulate(const Program& program, const Plan& plan, const Links& links);

}  // namespace vdnn
