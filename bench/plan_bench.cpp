// Time to plan and to verify, for networks of any size: `plan_bench --benchmark_filter=vgg-416`.
#include <benchmark/benchmark.h>
#include <vdnn/vdnn.h>

#include <map>
#include <memory>
#include <string>

namespace {

constexpr std::int64_t kUnlimited = std::int64_t{1} << 50;

vdnn::Job& job(const std::string& model) {
  static std::map<std::string, std::unique_ptr<vdnn::Job>> jobs;
  auto& known = jobs[model];
  if (!known) known = std::make_unique<vdnn::Job>(vdnn::make_model(model, {}), vdnn::JobOptions{});
  return *known;
}

void plan(benchmark::State& state, const std::string& model, const std::string& policy) {
  const vdnn::Program& program = job(model).program();
  for (auto _ : state) {
    benchmark::DoNotOptimize(vdnn::make_plan(program, {.policy = policy, .budget_bytes = kUnlimited}));
  }
  state.counters["kernels"] = static_cast<double>(program.kernels.size());
}

void verify(benchmark::State& state, const std::string& model, const std::string& policy) {
  const vdnn::Program& program = job(model).program();
  const auto made = vdnn::make_plan(program, {.policy = policy, .budget_bytes = kUnlimited});
  for (auto _ : state) {
    benchmark::DoNotOptimize(vdnn::verify_plan(program, *made.plan));
  }
}

}  // namespace

int main(int argc, char** argv) {
  for (const char* model : {"vgg-16", "googlenet", "vgg-116", "vgg-416"}) {
    for (const char* policy : {"oracle", "vdnn-all"}) {
      const std::string name = std::string(model) + "/" + policy;
      benchmark::RegisterBenchmark(("plan/" + name).c_str(), plan, model, policy)
          ->Unit(benchmark::kMillisecond);
      benchmark::RegisterBenchmark(("verify/" + name).c_str(), verify, model, policy)
          ->Unit(benchmark::kMillisecond);
    }
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
