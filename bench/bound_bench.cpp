// How far a step is from what its kernels take by themselves: in each round every kernel of a network is
// timed alone, at its fastest candidate, and then a step with unlimited memory, so that a machine's moods hit
// both alike.
//   bound_bench [MODEL [BATCH [ROUNDS]]]
#include <vdnn/executor.h>
#include <vdnn/vdnn.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <numeric>
#include <string>
#include <vector>

namespace {

// Seconds of each kernel in one step, in program order.
std::vector<double> kernel_seconds(vdnn::DeviceContext& context, vdnn::Executor& executor,
                                   std::int64_t step) {
  context.measure(true);
  context.take_spans();
  executor.begin_step({.seed = 1, .step = step});
  executor.end_step();
  std::vector<double> seconds;
  for (const auto& span : context.take_spans()) {
    if (span.stream == vdnn::StreamKind::compute) seconds.push_back(span.end_seconds - span.begin_seconds);
  }
  return seconds;
}

double sum(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

void keep_least(std::vector<double>& least, const std::vector<double>& values) {
  if (least.empty()) least = values;
  for (std::size_t i = 0; i < least.size(); ++i) least[i] = std::min(least[i], values[i]);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string model = argc > 1 ? argv[1] : "vgg-16";
  const std::int64_t batch = argc > 2 ? std::atoll(argv[2]) : 16;
  const int rounds = argc > 3 ? std::atoi(argv[3]) : 5;
  vdnn::Job job(vdnn::make_model(model, {.batch = batch}), {});
  const auto plan = job.plan({.policy = "oracle", .algorithms = vdnn::Algorithms::performance});
  const vdnn::Program& program = job.program();
  const auto timer = job.executable().open_timer(job.threads());
  const auto context = job.executable().open(
      {.budget_bytes = plan.budget_bytes, .planned_bytes = plan.peak_bytes, .threads = job.threads()});
  vdnn::Executor executor(*context, program, plan, {}, {});
  kernel_seconds(*context, executor, 0);
  std::vector<double> least_alone;
  std::vector<double> least_in_step;
  std::vector<double> ratios;
  for (int round = 1; round <= rounds; ++round) {
    std::map<std::string, double> known;  // by signature
    std::vector<double> alone;
    for (std::size_t k = 0; k < program.kernels.size(); ++k) {
      const auto [at, fresh] = known.try_emplace(program.kernels[k].signature, 0.0);
      if (fresh) at->second = timer->seconds(vdnn::KernelId(k), plan.assignment[k]);
      alone.push_back(at->second);
    }
    const std::vector<double> in_step = kernel_seconds(*context, executor, round);
    keep_least(least_alone, alone);
    keep_least(least_in_step, in_step);
    ratios.push_back(sum(in_step) / sum(alone));
    std::printf("round %d: kernels alone %.3f s, in a step %.3f s, ratio %.3f\n", round, sum(alone),
                sum(in_step), ratios.back());
    std::fflush(stdout);
  }
  std::sort(ratios.begin(), ratios.end());
  std::printf("%s, batch %lld: ratio %.3f (median of %d, %.3f to %.3f)\n", model.c_str(),
              static_cast<long long>(batch), ratios[ratios.size() / 2], rounds, ratios.front(),
              ratios.back());
  std::printf("each kernel at its best in %d rounds: alone %.3f s, in a step %.3f s, ratio %.3f\n", rounds,
              sum(least_alone), sum(least_in_step), sum(least_in_step) / sum(least_alone));
}
