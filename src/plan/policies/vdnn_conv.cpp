#include "plan/policies/policies.h"
#include "plan/policies/vdnn_offload.h"

namespace vdnn {
namespace {

bool offloads(const Layer& layer) {
  return layer.layer_class == LayerClass::feature_extraction && layer.kind == OpKind::convolution;
}

Decisions decide(const Program& program, const Uses& uses) {
  return offload_inputs_of(program, uses, offloads, false);
}

}  // namespace

const Policy kVdnnConv = {.name = "vdnn-conv",
                          .summary = "offloads the inputs of convolutions, whose kernels hide the copies",
                          .offloads = true,
                          .decide = decide};

}  // namespace vdnn
