#include "base/counter_random.h"
#include "device/reference/kernels.h"

namespace vdnn::reference {
namespace {

// The op's first input to its output, which may be the same: forward and backward drop the same values,
// so both are this map.
void drop(const Call& call) {
  const double probability = call.attributes<DropoutAttributes>().probability;
  const CounterRandom random(call.scalars.seed, call.op.random_stream,
                             static_cast<std::uint32_t>(call.scalars.step));
  const double* src = call.input(0);
  double* dst = call.output(0);
  const double scale = 1 / (1 - probability);
  const std::int64_t count = call.outputs[0].shape.elements();
  for (std::int64_t i = 0; i < count; ++i) {
    const bool dropped = random.uniform(static_cast<std::uint64_t>(i)) < static_cast<float>(probability);
    dst[i] = dropped ? 0.0 : src[i] * scale;
  }
}

}  // namespace

// x -> y
void dropout(const Call& call) {
  drop(call);
}

// dy -> dx
void dropout_backward(const Call& call) {
  drop(call);
}

}  // namespace vdnn::reference
