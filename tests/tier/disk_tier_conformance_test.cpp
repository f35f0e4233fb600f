#include "tier/tier_conformance.h"

namespace vdnn::testing {

TierCase disk(const std::string& name, const DiskTierOptions& options) {
  return {name, [options] { return open_disk_tier(options); }};
}

INSTANTIATE_TEST_SUITE_P(Disk, TierConformance,
                         ::testing::Values(disk("io_uring_direct", {"/var/tmp", true, true}),
                                           disk("pread_direct", {"/var/tmp", false, true}),
                                           disk("page_cache", {"/var/tmp", false, false}),
                                           disk("page_cache_in_memory", {"/dev/shm", false, false})),
                         tier_name);

}  // namespace vdnn::testing
