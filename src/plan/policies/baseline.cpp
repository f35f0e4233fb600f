#include "plan/policies/policies.h"

namespace vdnn {
namespace {

Decisions decide(const Program&, const Uses&) {
  return {.share_addresses = false};
}

}  // namespace

const Policy kBaseline = {
    .name = "baseline", .summary = "network-wide allocation: nothing is shared or moved", .decide = decide};

}  // namespace vdnn
