#include <fmt/format.h>

#include <array>

#include "base/nearest.h"
#include "plan/policies/policies.h"
#include "vdnn/error.h"

namespace vdnn {
namespace {

const std::array<const Policy*, 6> kPolicies = {&kBaseline, &kOracle,  &kVdnnAll,
                                                &kVdnnConv, &kVdnnDyn, &kAuto};

}  // namespace

std::span<const Policy* const> registered_policies() {
  return kPolicies;
}

const Policy& find_policy(std::string_view name) {
  std::vector<std::string> known;
  for (const auto* policy : kPolicies) {
    if (policy->name == name) return *policy;
    known.emplace_back(policy->name);
  }
  throw UsageError(fmt::format("unknown policy '{}'{}", name, suggest(name, known)));
}

std::vector<PolicyInfo> policies() {
  std::vector<PolicyInfo> infos;
  for (const auto* policy : kPolicies) {
    infos.push_back({.name = std::string(policy->name),
                     .summary = std::string(policy->summary),
                     .offloads = policy->offloads,
                     .unlimited = policy->unlimited,
                     .chooses_algorithms = policy->chooses_algorithms,
                     .still_where_all_fits = policy->still_where_all_fits,
                     .weighs_times = policy->weighs_times});
  }
  return infos;
}

bool may_move(const Buffer& buffer) {
  return !buffer.persistent && !buffer.result && buffer.bytes >= kLeastMovedBytes &&
         (buffer.role == Role::feature_map || buffer.role == Role::input);
}

}  // namespace vdnn
