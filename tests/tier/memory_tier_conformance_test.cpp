#include "tier/memory_tier.h"
#include "tier/tier_conformance.h"

namespace vdnn::testing {
INSTANTIATE_TEST_SUITE_P(Memory, TierConformance,
                         ::testing::Values(TierCase{"host_memory", make_memory_tier}), tier_name);
}  // namespace vdnn::testing
