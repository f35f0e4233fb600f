#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "plan/liveness.h"
#include "program/granule.h"
#include "vdnn/plan.h"

namespace vdnn {

inline constexpr std::int32_t kNoLaunch = -1;

// A buffer's absence, in positions of launches. Copies start with the launch named (one past the last: when
// all have been); the launch named by a `done` starts only when the copy has ended, none with kNoLaunch: then
// only who needs the value or the address waits.
struct Movement {
  BufferId buffer;
  bool copies_out = true;   // false: the tier has the value from an earlier absence
  bool goes_round = false;  // comes back in the next step, so that the buffer is away between steps
  std::int32_t offload_with = 0;
  std::int32_t offload_done = kNoLaunch;
  std::int32_t release = 0;  // the buffer's address is free from this launch on
  std::int32_t prefetch_with = 0;
  std::int32_t prefetch_done = kNoLaunch;
};

// What a policy decides; addresses and waits follow from it.
struct Decisions {
  // Every kernel for the first time in the program's order; empty: each once.
  Launches launches{};
  std::vector<Movement> movements{};
  // By buffer, whether its place is in the far tier; empty: chosen by how many launches buffers are away.
  std::vector<bool> far_buffers{};
  // False: feature maps and weight gradients keep an address of their own for the whole step, as
  // network-wide allocation does.
  bool share_addresses = true;
};

// What a policy plans for. The parts outlive the planning.
struct PlanProblem {
  const Program& program;
  const PlanRequest& request;
  const Uses& uses;  // with every kernel launched once
};

// The plan that follows from decisions and an assignment, or why the budget cannot hold it. make_plan adds
// the waits to the one that its policy returns.
PlanResult plan_decisions(const PlanProblem& problem, const Decisions& decisions,
                          const std::vector<int>& assignment);

// The request's assignment where it has one, else that of its algorithms.
std::vector<int> requested_assignment(const PlanProblem& problem);

// Live bytes at each kernel, its workspace left out; the most of a kernel's launches.
std::vector<std::int64_t> occupied_bytes(const PlanProblem& problem, const Decisions& decisions);

// The request's assignment where it has one, else that of these algorithms.
std::vector<int> start_from(const PlanProblem& problem, Algorithms algorithms);

// Keeps in the plan, for each kernel with several candidates, the fastest and the room that there was;
// nothing where the assignment was given.
void remember_choices(const PlanProblem& problem, const Decisions& decisions, const std::vector<int>& fastest,
                      Plan& plan);

// A policy is one such value in a file of its own in policies/, listed in policy_registry.cpp.
struct Policy {
  std::string_view name;
  std::string_view summary;
  bool offloads = false;
  bool unlimited = false;             // the budget does not bind
  bool chooses_algorithms = false;    // per kernel, whatever the request's algorithms
  bool still_where_all_fits = false;  // bound by P5
  bool weighs_times = false;          // its plans hang on measured times of kernels and copies
  PlanResult (*plan)(const PlanProblem& problem);
};

std::span<const Policy* const> registered_policies();
const Policy& find_policy(std::string_view name);

// True for buffers that the paper's policies may move at all.
bool may_move(const Buffer& buffer);

}  // namespace vdnn
