#include "plan/policies/policies.h"

namespace vdnn {
namespace {

Decisions decide(const Program&, const Uses&) {
  return {.share_addresses = false};
}

}  // namespace

const Policy kBaseline = {"baseline", "network-wide allocation: nothing is shared or moved", false, decide};

}  // namespace vdnn
