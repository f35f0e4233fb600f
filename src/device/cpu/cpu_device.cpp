#include "device/cpu/cpu_device.h"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <chrono>
#include <fstream>

#include "base/cpu_count.h"
#include "base/free_memory.h"
#include "device/cpu/index_map.h"
#include "device/cpu/lowering.h"
#include "device/host/context.h"
#include "program/kernel_layout.h"
#include "vdnn/bytes.h"

namespace vdnn {
namespace {

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("model name", 0) == 0) return line.substr(line.find(':') + 2);
  }
  return "unknown processor";
}

// Sets the calling thread's number of OpenMP threads while it lives.
class ThreadCount {
 public:
  explicit ThreadCount(int threads) : before_(omp_get_max_threads()) { omp_set_num_threads(threads); }
  ~ThreadCount() { omp_set_num_threads(before_); }
  ThreadCount(const ThreadCount&) = delete;
  ThreadCount& operator=(const ThreadCount&) = delete;

 private:
  int before_;
};

class CpuExecutable : public Executable, public HostCode {
 public:
  CpuExecutable(const TrainingGraph& graph, int threads) : storage_(graph.storage), threads_(threads) {
    const ThreadCount count(threads);
    lowered_ = cpu::Lowering(graph).run();
  }

  [[nodiscard]] const Program& program() const override { return lowered_.program; }

  [[nodiscard]] std::vector<BoundTensor> tensor(TensorId tensor) const override {
    return lowered_.tensors[storage_[tensor.index()].index()];
  }

  [[nodiscard]] std::string cost_key(int threads) const override {
    return fmt::format("{}, {} threads, {}", processor_name(), threads, cpu::onednn_version());
  }

  std::unique_ptr<KernelTimer> open_timer(int threads) override;

  void set_seconds(KernelId kernel, int candidate, double seconds) override {
    lowered_.program.kernels[kernel.index()].candidates[static_cast<std::size_t>(candidate)].seconds =
        seconds;
  }

  std::unique_ptr<DeviceContext> open(const ArenaOptions& options) override {
    make_index_maps();
    return std::make_unique<HostContext>(lowered_.program, *this, options,
                                         [threads = threads_] { omp_set_num_threads(threads); });
  }

  void run(KernelId kernel, int candidate, std::span<std::byte* const> arguments,
           const StepScalars& scalars) override {
    lowered_.code[kernel.index()]->run(candidate, {runtime_, arguments, scalars});
  }

  void write_values(BufferId buffer, std::byte* data, std::int64_t first,
                    std::span<const float> values) const override {
    if (lowered_.types[buffer.index()] == DataType::int32) {
      auto* target = reinterpret_cast<std::int32_t*>(data) + first;
      std::transform(values.begin(), values.end(), target,
                     [](float value) { return static_cast<std::int32_t>(value); });
      return;
    }
    auto* target = reinterpret_cast<float*>(data);
    const cpu::IndexMap& map = *index_maps_[buffer.index()];
    // What pads a block is zero, and kernels keep it so.
    if (first == 0) map.for_each_padding([&](std::int64_t at) { target[at] = 0; });
    map.for_each(first, static_cast<std::int64_t>(values.size()),
                 [&](std::int64_t i, std::int64_t at) { target[at] = values[static_cast<std::size_t>(i)]; });
  }

  void read_values(BufferId buffer, const std::byte* data, std::int64_t first,
                   std::span<float> values) const override {
    if (lowered_.types[buffer.index()] == DataType::int32) {
      const auto* source = reinterpret_cast<const std::int32_t*>(data) + first;
      std::transform(source, source + values.size(), values.begin(),
                     [](std::int32_t v) { return static_cast<float>(v); });
      return;
    }
    const auto* source = reinterpret_cast<const float*>(data);
    index_maps_[buffer.index()]->for_each(
        first, static_cast<std::int64_t>(values.size()),
        [&](std::int64_t i, std::int64_t at) { values[static_cast<std::size_t>(i)] = source[at]; });
  }

 private:
  // When something runs and not before: a network that is only planned may have extents beyond all memory.
  void make_index_maps() {
    if (!index_maps_.empty()) return;
    for (const auto& format : lowered_.formats) {
      index_maps_.push_back(
          format.get_size() == 0 ? std::nullopt : std::make_optional<cpu::IndexMap>(cpu::blocking(format)));
    }
  }

  std::vector<TensorId> storage_;
  int threads_;
  cpu::Lowered lowered_;
  std::vector<std::optional<cpu::IndexMap>> index_maps_;  // by buffer
  cpu::Runtime runtime_;
};

// Runs kernels on zeros in memory of its own.
class CpuTimer : public KernelTimer {
 public:
  CpuTimer(CpuExecutable& executable, int threads) : executable_(executable), threads_(threads) {}

  double seconds(KernelId id, int candidate) override {
    const Kernel& kernel = executable_.program().kernel(id);
    const KernelLayout layout =
        lay_out_alone(executable_.program(), kernel, kernel.candidates[static_cast<std::size_t>(candidate)]);
    if (!arena_ || layout.bytes > arena_bytes_) {
      arena_.reset();
      arena_.emplace(layout.bytes, layout.bytes);
      arena_bytes_ = layout.bytes;
    }
    return best_of_runs(id, candidate, layout.offsets_bytes);
  }

 private:
  double best_of_runs(KernelId id, int candidate, const std::vector<std::int64_t>& offsets) {
    std::vector<std::byte*> arguments;
    for (const auto offset : offsets) arguments.push_back(arena_->data() + offset);
    const ThreadCount count(threads_);
    double best = 0;
    double total = 0;
    // The first run generates code and warms the caches; a slow kernel hardly notices either.
    for (int run = 0; run < 5 && total < 0.15; ++run) {
      const auto begin = std::chrono::steady_clock::now();
      executable_.run(id, candidate, arguments, {});
      const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
      if (best == 0 || run == 1 || seconds < best) best = seconds;
      total += seconds;
    }
    return best;
  }

  CpuExecutable& executable_;
  int threads_;
  std::optional<HostArena> arena_;
  std::int64_t arena_bytes_ = 0;
};

std::unique_ptr<KernelTimer> CpuExecutable::open_timer(int threads) {
  return std::make_unique<CpuTimer>(*this, threads);
}

}  // namespace

DeviceDescription CpuDevice::description() const {
  return {.name = "cpu",
          .summary = fmt::format("{}, {}", processor_name(), cpu::onednn_version()),
          .free_bytes = free_memory_bytes(),
          .threads = usable_cpu_count()};
}

std::unique_ptr<Executable> CpuDevice::lower(const TrainingGraph& graph, int threads) const {
  return std::make_unique<CpuExecutable>(graph, threads);
}

}  // namespace vdnn
