#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "vdnn/dataset.h"
#include "vdnn/error.h"
#include "vdnn/session.h"

namespace vdnn::testing {

// What a few steps of training leave behind.
struct TrainingRun {
  std::vector<double> losses;  // by step
  std::string digest;          // of the weights at the end
  RunTotals totals;
};

inline std::shared_ptr<const Dataset> synthetic_data(const TrainingGraph& graph, std::int64_t size) {
  constexpr std::uint64_t kSeed = 5;
  return open_dataset(fmt::format("synthetic:{}", size), graph.classes, kSeed);
}

// Of three batches, so that a fourth step begins an epoch.
inline std::shared_ptr<const Dataset> synthetic_data(const TrainingGraph& graph) {
  return synthetic_data(graph, 3 * graph.tensor(graph.staged_images).shape[0]);
}

inline TrainingRun train(Job& job, const Plan& plan, const SessionOptions& options, int steps = 2) {
  Session session(job, plan, synthetic_data(job.graph()), options);
  TrainingRun run;
  for (int step = 0; step < steps; ++step) run.losses.push_back(session.step().loss);
  run.digest = session.weights_digest();
  run.totals = session.totals();
  return run;
}

inline std::vector<std::vector<float>> weights(Session& session) {
  std::vector<std::vector<float>> all;
  session.visit_weights([&](const Parameter&, std::int64_t first, std::span<const float> values) {
    if (first == 0) all.emplace_back();
    all.back().insert(all.back().end(), values.begin(), values.end());
  });
  return all;
}

// A plan that always fits: network-wide allocation in as much memory as it takes.
inline Plan unlimited_plan(Job& job, const std::vector<int>& assignment) {
  return job.plan({.policy = "oracle", .assignment = assignment});
}

// The least budget of a request, found by asking for a plan in one byte.
inline std::int64_t least_budget_bytes(Job& job, PlanRequest request) {
  request.budget_bytes = 1;
  try {
    return job.plan(request).budget_bytes;
  } catch (const BudgetError& error) {
    return error.least_budget_bytes();
  }
}

// The plan of a request at its least budget.
inline Plan tightest_plan(Job& job, PlanRequest request) {
  request.budget_bytes = least_budget_bytes(job, request);
  return job.plan(request);
}

}  // namespace vdnn::testing
