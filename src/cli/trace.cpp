#include "cli/trace.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/report.h"
#include "cli/step_json.h"
#include "vdnn/whole_file.h"

namespace vdnn::cli {
namespace {

constexpr int kProcess = 1;

class Trace {
 public:
  Trace(const Program& program, const Plan& plan) : program_(program), plan_(plan) {
    add("process_name", "M", {{"args", {{"name", fmt::format("{}, {}", program.name, plan.policy)}}}});
    for (const auto stream : streams_of(plan)) {
      add("thread_name", "M", {{"tid", track(stream)}, {"args", {{"name", stream_name(stream)}}}});
      add("thread_sort_index", "M", {{"tid", track(stream)}, {"args", {{"sort_index", track(stream)}}}});
    }
  }

  void add_step(const MeasuredStep& step) {
    origin_microseconds_ = 1e6 * step.begin_seconds;
    for (std::size_t s = 0; s < plan_.steps.size(); ++s) {
      const PlanStep& work = plan_.steps[s];
      nlohmann::json arguments = {{"step", s}};
      if (work.kind == StepKind::launch) {
        const Kernel& kernel = program_.kernel(work.kernel);
        const auto& candidate =
            kernel.candidates[static_cast<std::size_t>(plan_.assignment[work.kernel.index()])];
        arguments.update({{"op", kernel.op},
                          {"algorithm", candidate.algorithm},
                          {"slices", candidate.slices},
                          {"workspace_bytes", candidate.workspace_bytes}});
      } else {
        arguments["bytes"] = program_.buffer(work.buffer).placed_bytes();
      }
      complete(step_name(program_, work), work.kind == StepKind::launch ? "kernel" : "copy", work.stream(),
               step.times[s], arguments);
    }
    for (const auto& wait : stream_waits(plan_, step.times)) {
      complete(fmt::format("waits for {}", step_name(program_, plan_.steps[wait.on])), "wait",
               plan_.steps[wait.step].stream(), wait.nanoseconds, {{"step", wait.step}});
    }
    for (const auto& sample : memory_over_time(program_, plan_, step.times)) {
      nlohmann::json bytes;
      for (const auto role : kRoles)
        bytes[std::string(role_name(role))] = sample.bytes[static_cast<std::size_t>(role)];
      add("memory, bytes", "C", {{"ts", microseconds(sample.nanoseconds)}, {"args", bytes}});
    }
  }

  [[nodiscard]] nlohmann::json json() const {
    return {
        {"traceEvents", events_},
        {"displayTimeUnit", "ms"},
        {"otherData",
         {{"policy", plan_.policy}, {"budget_bytes", plan_.budget_bytes}, {"peak_bytes", plan_.peak_bytes}}}};
  }

 private:
  static int track(StreamKind stream) { return static_cast<int>(stream) + 1; }

  [[nodiscard]] double microseconds(std::int64_t nanoseconds) const {
    return origin_microseconds_ + 1e-3 * static_cast<double>(nanoseconds);
  }

  void add(const std::string& name, const char* phase, const nlohmann::json& more) {
    nlohmann::json event = {{"name", name}, {"ph", phase}, {"pid", kProcess}};
    event.update(more);
    events_.push_back(std::move(event));
  }

  void complete(const std::string& name, const char* category, StreamKind stream, Interval nanoseconds,
                const nlohmann::json& arguments) {
    add(name, "X",
        {{"cat", category},
         {"tid", track(stream)},
         {"ts", microseconds(nanoseconds.begin)},
         {"dur", 1e-3 * static_cast<double>(nanoseconds.length())},
         {"args", arguments}});
  }

  const Program& program_;
  const Plan& plan_;
  double origin_microseconds_ = 0;
  nlohmann::json events_ = nlohmann::json::array();
};

}  // namespace

void write_trace(const std::string& path, const Program& program, const Plan& plan,
                 const std::vector<MeasuredStep>& steps) {
  Trace trace(program, plan);
  for (const auto& step : steps) trace.add_step(step);
  write_whole_file(path, json_text(trace.json(), -1) + '\n');
}

}  // namespace vdnn::cli
