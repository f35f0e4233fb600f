#include "device/reference/kernels.h"

namespace vdnn::reference {
namespace {

// Calls visit(index in the whole, part, index in the part, values) for every run of values that lies in
// one piece in both: the channels of a part in one example.
template <class Visit>
void for_each_run(const Shape& whole, std::span<const Tensor> parts, Visit visit) {
  std::int64_t at = 0;
  for (std::int64_t example = 0; example < whole[0]; ++example) {
    for (const Tensor& part : parts) {
      const std::int64_t values = part.shape.elements_per_example();
      visit(at, part, example * values, values);
      at += values;
    }
  }
}

}  // namespace

// x... -> y, along the channels
void concat(const Call& call) {
  double* y = call.output(0);
  for_each_run(call.outputs[0].shape, call.inputs,
               [&](std::int64_t at, const Tensor& part, std::int64_t at_part, std::int64_t values) {
                 std::copy_n(part.data + at_part, values, y + at);
               });
}

// dy -> dx...
void split(const Call& call) {
  const double* dy = call.input(0);
  for_each_run(call.inputs[0].shape, call.outputs,
               [&](std::int64_t at, const Tensor& part, std::int64_t at_part, std::int64_t values) {
                 std::copy_n(dy + at, values, part.data + at_part);
               });
}

}  // namespace vdnn::reference
