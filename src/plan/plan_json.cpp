#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "vdnn/error.h"
#include "vdnn/plan.h"

namespace vdnn {
namespace {

using nlohmann::json;

constexpr int kFormat = 3;
constexpr const char* kFar = "far";
constexpr const char* kKinds[] = {"launch", "offload", "prefetch"};

json step_json(const PlanStep& step) {
  json out = {{"do", kKinds[static_cast<std::size_t>(step.kind)]}};
  if (step.kind == StepKind::launch) {
    out["kernel"] = step.kernel.index();
  } else {
    out["buffer"] = step.buffer.index();
    if (step.tier == TierLevel::far) out["tier"] = kFar;
    out["tier_offset_bytes"] = step.tier_offset_bytes;
  }
  if (!step.waits.empty()) out["waits"] = step.waits;
  return out;
}

// The library converts between numbers silently.
template <class Integer>
Integer integer_in(const json& value) {
  const bool fits = value.is_number_unsigned()
                        ? std::in_range<Integer>(value.get<std::uint64_t>())
                        : value.is_number_integer() && std::in_range<Integer>(value.get<std::int64_t>());
  if (!fits)
    throw ModelError(fmt::format("plan: {} is not an integer of {} bits", value.dump(), 8 * sizeof(Integer)));
  return value.get<Integer>();
}

std::size_t index_in(const json& value) {
  const auto index = integer_in<std::int32_t>(value);
  if (index < 0) throw ModelError(fmt::format("plan: {} is not an index", index));
  return static_cast<std::size_t>(index);
}

PlanStep read_step(const json& in) {
  const auto name = in.at("do").get<std::string>();
  PlanStep step;
  if (name == kKinds[0]) {
    step.kernel = KernelId(index_in(in.at("kernel")));
  } else if (name == kKinds[1] || name == kKinds[2]) {
    step.kind = name == kKinds[1] ? StepKind::offload : StepKind::prefetch;
    step.buffer = BufferId(index_in(in.at("buffer")));
    if (in.contains("tier")) {
      if (in.at("tier") != kFar) throw ModelError(fmt::format("plan: no tier {}", in.at("tier").dump()));
      step.tier = TierLevel::far;
    }
    step.tier_offset_bytes = integer_in<std::int64_t>(in.at("tier_offset_bytes"));
  } else {
    throw ModelError(fmt::format("plan: a step cannot do '{}'", name));
  }
  if (in.contains("waits")) {
    for (const auto& wait : in.at("waits")) step.waits.push_back(integer_in<std::int32_t>(wait));
  }
  return step;
}

Plan read(const json& in) {
  if (const auto format = integer_in<int>(in.at("vdnn_plan")); format != kFormat) {
    throw ModelError(fmt::format("plan: format {}, this vdnn reads {}", format, kFormat));
  }
  Plan plan;
  const auto text = in.at("program_fingerprint").get<std::string>();
  if (text.empty() || text.size() > 16 || text.find_first_not_of("0123456789abcdef") != std::string::npos) {
    throw ModelError(fmt::format("plan: '{}' is not a fingerprint", text));
  }
  plan.program_fingerprint = std::stoull(text, nullptr, 16);
  plan.policy = in.at("policy").get<std::string>();
  const auto algorithms = in.at("algorithms").get<std::string>();
  const auto known = {Algorithms::memory, Algorithms::performance, Algorithms::mixed};
  const auto found =
      std::find_if(known.begin(), known.end(), [&](auto one) { return algorithms_name(one) == algorithms; });
  if (found == known.end()) throw ModelError(fmt::format("plan: algorithms '{}'", algorithms));
  plan.algorithms = *found;
  plan.budget_bytes = integer_in<std::int64_t>(in.at("budget_bytes"));
  plan.peak_bytes = integer_in<std::int64_t>(in.at("peak_bytes"));
  plan.tier_bytes = integer_in<std::int64_t>(in.at("tier_bytes"));
  plan.far_tier_bytes = integer_in<std::int64_t>(in.at("far_tier_bytes"));
  for (const auto& candidate : in.at("assignment")) plan.assignment.push_back(integer_in<int>(candidate));
  for (const auto& step : in.at("steps")) plan.steps.push_back(read_step(step));
  for (const auto& stay : in.at("placements")) {
    Placement placement{
        .steps = {integer_in<std::int64_t>(stay.at("from")), integer_in<std::int64_t>(stay.at("to"))},
        .offset_bytes = integer_in<std::int64_t>(stay.at("offset_bytes")),
        .bytes = integer_in<std::int64_t>(stay.at("bytes"))};
    if (stay.contains("buffer")) placement.buffer = BufferId(index_in(stay.at("buffer")));
    plan.placements.push_back(placement);
  }
  for (const auto& pass : in.at("passes")) {
    plan.passes.push_back({.name = pass.at("name").get<std::string>(),
                           .peak_bytes = integer_in<std::int64_t>(pass.at("peak_bytes")),
                           .fits = pass.at("fits").get<bool>()});
  }
  for (const auto& choice : in.at("choices")) {
    plan.choices.push_back({.kernel = KernelId(index_in(choice.at("kernel"))),
                            .fastest = integer_in<int>(choice.at("fastest")),
                            .room_bytes = integer_in<std::int64_t>(choice.at("room_bytes"))});
  }
  return plan;
}

}  // namespace

std::string to_json(const Plan& plan) {
  json out = {{"vdnn_plan", kFormat},
              {"program_fingerprint", fmt::format("{:016x}", plan.program_fingerprint)},
              {"policy", plan.policy},
              {"algorithms", algorithms_name(plan.algorithms)},
              {"budget_bytes", plan.budget_bytes},
              {"peak_bytes", plan.peak_bytes},
              {"tier_bytes", plan.tier_bytes},
              {"far_tier_bytes", plan.far_tier_bytes},
              {"assignment", plan.assignment},
              {"steps", json::array()},
              {"placements", json::array()},
              {"passes", json::array()},
              {"choices", json::array()}};
  for (const auto& step : plan.steps) out["steps"].push_back(step_json(step));
  for (const auto& placement : plan.placements) {
    json stay = {{"from", placement.steps.begin},
                 {"to", placement.steps.end},
                 {"offset_bytes", placement.offset_bytes},
                 {"bytes", placement.bytes}};
    if (placement.buffer.valid()) stay["buffer"] = placement.buffer.index();
    out["placements"].push_back(std::move(stay));
  }
  for (const auto& pass : plan.passes)
    out["passes"].push_back({{"name", pass.name}, {"peak_bytes", pass.peak_bytes}, {"fits", pass.fits}});
  for (const auto& choice : plan.choices) {
    out["choices"].push_back(
        {{"kernel", choice.kernel.index()}, {"fastest", choice.fastest}, {"room_bytes", choice.room_bytes}});
  }
  return out.dump();
}

Plan read_plan(std::string_view text) {
  try {
    const json given = json::parse(text);
    Plan plan = read(given);
    if (const json written = json::parse(to_json(plan)); written != given) {
      throw ModelError(fmt::format("plan: P8: written back it would not be the same: {}",
                                   json::diff(given, written).at(0).at("path").get<std::string>()));
    }
    return plan;
  } catch (const json::exception& error) {
    throw ModelError(fmt::format("plan: {}", error.what()));
  }
}

}  // namespace vdnn
