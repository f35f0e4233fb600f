#include "support/cuda/stand_in_device.h"

#include <algorithm>

#include "device/cuda/call.h"
#include "device/cuda/context.h"
#include "device/cuda/host_tier.h"
#include "device/host/context.h"
#include "vdnn/error.h"

namespace vdnn::testing {
namespace {

// Kernels run on a stream's thread, where the host's copy of the device's memory is.
class Code : public cuda::DeviceCode {
 public:
  Code(Executable& reference, StandInRuntime& runtime)
      : host_(dynamic_cast<HostCode&>(reference)), program_(reference.program()), runtime_(runtime) {}

  void launch(KernelId kernel, int candidate, std::span<std::byte* const> arguments,
              const StepScalars& scalars, cuda::Stream stream) override {
    const std::vector<std::byte*> kept(arguments.begin(), arguments.end());
    const auto work = [=, this] {
      try {
        host_.run(kernel, candidate, kept, scalars);
      } catch (const Error&) {
        // A kernel on a GPU does not refuse what it finds in memory.
      }
    };
    cuda::check(runtime_, runtime_.enqueue(stream, work), "cudaLaunchKernel");
  }

  // Rounded outwards, so that other values are in the range, too.
  [[nodiscard]] Range range_of(BufferId buffer, std::int64_t first, std::int64_t count) const override {
    constexpr std::int64_t kBlock = 3;
    const std::int64_t values = program_.buffer(buffer).bytes / kValueBytes;
    const std::int64_t begin = first / kBlock * kBlock;
    const std::int64_t end = std::min(values, (first + count + kBlock - 1) / kBlock * kBlock);
    return {begin * kValueBytes, end * kValueBytes, begin < first || end > first + count};
  }
  void write_values(BufferId buffer, std::span<std::byte> range, std::int64_t first,
                    std::span<const float> values) const override {
    host_.write_values(buffer, range.data(), first - first / 3 * 3, values);
  }
  void read_values(BufferId buffer, std::span<const std::byte> range, std::int64_t first,
                   std::span<float> values) const override {
    host_.read_values(buffer, range.data(), first - first / 3 * 3, values);
  }

 private:
  static constexpr std::int64_t kValueBytes = 8;

  HostCode& host_;
  const Program& program_;
  StandInRuntime& runtime_;
};

// A base, so that it is there before the context and after.
struct ContextNeeds {
  std::shared_ptr<StandInRuntime> runtime;
  std::unique_ptr<Code> code;
};

class OwningContext : private ContextNeeds, public cuda::Context {
 public:
  OwningContext(ContextNeeds needs, const Program& program, const ArenaOptions& options)
      : ContextNeeds(std::move(needs)), cuda::Context(*runtime, program, *code, options) {}
};

class StandInExecutable : public Executable {
 public:
  StandInExecutable(const TrainingGraph& graph, std::shared_ptr<StandInRuntime> runtime)
      : reference_(open_device("reference")->lower(graph, 1)), runtime_(std::move(runtime)) {}

  [[nodiscard]] const Program& program() const override { return reference_->program(); }
  [[nodiscard]] std::vector<BoundTensor> tensor(TensorId tensor) const override {
    return reference_->tensor(tensor);
  }
  [[nodiscard]] std::string cost_key(int) const override { return "stand-in"; }
  std::unique_ptr<KernelTimer> open_timer(int threads) override { return reference_->open_timer(threads); }
  void set_seconds(KernelId kernel, int candidate, double seconds) override {
    reference_->set_seconds(kernel, candidate, seconds);
  }
  [[nodiscard]] bool has_host_memory() const override { return true; }
  std::unique_ptr<Tier> open_host_memory() override {
    if (!runtime_) runtime_ = std::make_shared<StandInRuntime>();
    return cuda::make_host_tier(*runtime_);
  }
  std::unique_ptr<DeviceContext> open(const ArenaOptions& options) override {
    auto runtime = runtime_;
    if (!runtime)
      runtime = std::make_shared<StandInRuntime>(options.random_delay_seconds, options.delay_seed);
    auto code = std::make_unique<Code>(*reference_, *runtime);
    return std::make_unique<OwningContext>(ContextNeeds{runtime, std::move(code)}, program(), options);
  }

 private:
  std::unique_ptr<Executable> reference_;
  std::shared_ptr<StandInRuntime> runtime_;
};

}  // namespace

DeviceDescription StandInDevice::description() const {
  return {.name = "stand-in", .summary = "CUDA's calls on threads, for tests", .free_bytes = 1 << 30};
}

std::unique_ptr<Executable> StandInDevice::lower(const TrainingGraph& graph, int) const {
  return std::make_unique<StandInExecutable>(graph, runtime_);
}

}  // namespace vdnn::testing
