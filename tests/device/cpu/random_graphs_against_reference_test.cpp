#include "device/cpu/against_reference.h"
#include "support/random_graph.h"

namespace vdnn::testing {
namespace {

TEST(CpuDevice, TrainsRandomNetworksAsTheReferenceDoes) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    expect_cpu_matches_reference(random_graph(seed));
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
  }
}

}  // namespace
}  // namespace vdnn::testing
