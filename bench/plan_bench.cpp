// Time to plan and to verify: of networks of the zoo, and of chains of growing length with the order of
// growth, up to 10,000 kernels. `plan_bench --benchmark_filter=vgg-416`.
#include <benchmark/benchmark.h>
#include <vdnn/vdnn.h>

#include <map>
#include <memory>
#include <string>

namespace {

// Described: its kernels have their times without being measured.
constexpr const char* kDevice = "profile:titan-x";

using vdnn::Job;

Job& job(const std::string& model) {
  static std::map<std::string, std::unique_ptr<Job>> jobs;
  auto& known = jobs[model];
  if (!known) known = std::make_unique<Job>(vdnn::make_model(model, {}), vdnn::JobOptions{.device = kDevice});
  return *known;
}

// Seven kernels a layer: forward, backward of data and weights, updates.
Job& chain(std::int64_t layers) {
  static std::map<std::int64_t, std::unique_ptr<Job>> jobs;
  auto& known = jobs[layers];
  if (known) return *known;
  vdnn::GraphBuilder b("chain", {16, 3, 56, 56});
  vdnn::TensorId x = b.input();
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    const std::string name = "conv" + std::to_string(layer);
    x = b.relu(name + "_relu", b.convolution(name, x, {.channels = 64, .kernel = {3, 3}, .padding = {1, 1}}));
  }
  b.softmax_cross_entropy("loss", b.fully_connected("fc", x, {.features = 10}));
  known = std::make_unique<Job>(std::move(b).build(), vdnn::JobOptions{.device = kDevice});
  return *known;
}

// A quarter of what everything resident takes, so that there is something to decide; more where the policy
// needs it.
vdnn::PlanRequest request(Job& job, const std::string& policy) {
  vdnn::PlanRequest all{.policy = "baseline", .budget_bytes = std::int64_t{1} << 50};
  all.budget_bytes = vdnn::make_plan(job.program(), all).plan->peak_bytes / 4;
  all.policy = policy;
  all.links = job.links();
  const auto made = vdnn::make_plan(job.program(), all);
  if (made.infeasible) all.budget_bytes = made.infeasible->least_budget_bytes;
  return all;
}

void plan(benchmark::State& state, Job& job, const std::string& policy) {
  const vdnn::PlanRequest asked = request(job, policy);
  for (auto _ : state) benchmark::DoNotOptimize(vdnn::make_plan(job.program(), asked));
  state.counters["kernels"] = static_cast<double>(job.program().kernels.size());
}

void verify(benchmark::State& state, Job& job, const std::string& policy) {
  const auto made = vdnn::make_plan(job.program(), request(job, policy));
  if (!made.plan) return state.SkipWithError("does not fit");
  for (auto _ : state) benchmark::DoNotOptimize(vdnn::verify_plan(job.program(), *made.plan));
}

void plan_chain(benchmark::State& state) {
  Job& of = chain(state.range(0));
  plan(state, of, "auto");
  state.SetComplexityN(static_cast<benchmark::IterationCount>(of.program().kernels.size()));
}

}  // namespace

int main(int argc, char** argv) {
  for (const char* model : {"vgg-16", "googlenet", "resnet-50", "vgg-116", "vgg-416"}) {
    for (const char* policy : {"vdnn-all", "auto"}) {
      const std::string name = std::string(model) + "/" + policy;
      benchmark::RegisterBenchmark(("plan/" + name).c_str(),
                                   [=](benchmark::State& state) { plan(state, job(model), policy); })
          ->Unit(benchmark::kMillisecond)
          ->UseRealTime();
      benchmark::RegisterBenchmark(("verify/" + name).c_str(), [=](benchmark::State& state) {
        verify(state, job(model), policy);
      })->Unit(benchmark::kMillisecond);
    }
  }
  benchmark::RegisterBenchmark("plan/chain/auto", plan_chain)
      ->Arg(180)
      ->Arg(360)
      ->Arg(720)
      ->Arg(1430)
      ->Unit(benchmark::kMillisecond)
      ->UseRealTime()
      ->Complexity();
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
