#include "plan/policies/policies.h"
#include "plan/policies/vdnn_offload.h"

namespace vdnn {
namespace {

bool offloads(const Layer& layer) {
  return layer.layer_class == LayerClass::feature_extraction && !layer.in_place &&
         layer.kind != OpKind::load_batch;
}

Decisions decide(const Program& program, const Uses& uses) {
  return offload_inputs_of(program, uses, offloads, true);
}

}  // namespace

const Policy kVdnnAll = {.name = "vdnn-all",
                         .summary = "offloads the input of every feature-extraction layer",
                         .offloads = true,
                         .decide = decide};

}  // namespace vdnn
