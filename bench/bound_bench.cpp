// How far a step is from what its kernels alone take: times every kernel of a network by itself, each at its
// fastest candidate, and then whole steps with unlimited memory.
//   bound_bench [MODEL [BATCH [STEPS]]]
#include <vdnn/vdnn.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

namespace {

double fastest_seconds(vdnn::KernelTimer& timer, const vdnn::Kernel& kernel, vdnn::KernelId id) {
  double best = 0;
  for (std::size_t c = 0; c < kernel.candidates.size(); ++c) {
    const double seconds = timer.seconds(id, static_cast<int>(c));
    if (seconds > 0 && (best == 0 || seconds < best)) best = seconds;
  }
  return best;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string model = argc > 1 ? argv[1] : "vgg-16";
  const std::int64_t batch = argc > 2 ? std::atoll(argv[2]) : 16;
  const int steps = argc > 3 ? std::atoi(argv[3]) : 5;
  vdnn::Job job(vdnn::make_model(model, {.batch = batch}), {});
  const auto plan = job.plan({.policy = "oracle", .algorithms = vdnn::Algorithms::performance});
  std::map<std::string, double> known;  // by signature
  std::map<std::string, double> by_op;
  double sum = 0;
  {
    const auto timer = job.executable().open_timer(job.threads());
    for (std::size_t k = 0; k < job.program().kernels.size(); ++k) {
      const auto& kernel = job.program().kernels[k];
      const auto [at, fresh] = known.try_emplace(kernel.signature, 0.0);
      if (fresh) at->second = fastest_seconds(*timer, kernel, vdnn::KernelId(k));
      by_op[kernel.op] += at->second;
      sum += at->second;
    }
  }
  vdnn::Session session(job, plan, vdnn::open_dataset("synthetic", 1000, 1), {});
  session.step();
  std::vector<double> seconds;
  for (int i = 0; i < steps; ++i) seconds.push_back(session.step().seconds);
  std::sort(seconds.begin(), seconds.end());
  const double median = seconds[seconds.size() / 2];
  for (const auto& [op, time] : by_op) std::printf("%-34s %8.1f ms\n", op.c_str(), 1e3 * time);
  std::printf(
      "%s, batch %lld: kernels alone %.3f s, oracle step %.3f s (median of %d, %.3f to %.3f), ratio %.3f\n",
      model.c_str(), static_cast<long long>(batch), sum, median, steps, seconds.front(), seconds.back(),
      median / sum);
}
