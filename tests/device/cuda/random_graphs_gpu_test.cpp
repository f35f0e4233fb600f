#include <algorithm>

#include "device/cpu/against_reference.h"
#include "support/gpu.h"
#include "support/random_graph.h"
#include "support/temporary_directory.h"

namespace vdnn::testing {
namespace {

// Candidate c of every kernel that has so many, else its last.
std::vector<int> assignment_of(const Program& program, int c) {
  std::vector<int> assignment;
  for (const auto& kernel : program.kernels)
    assignment.push_back(std::min(c, static_cast<int>(kernel.candidates.size()) - 1));
  return assignment;
}

TEST(CudaDevice, TrainsRandomNetworksAsTheReferenceDoes) {
  const TemporaryDirectory cache;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const Graph graph = random_graph(seed);
    SCOPED_TRACE(to_text(graph));
    Job reference(graph, {.device = "reference"});
    Job cuda(graph, {.device = "cuda", .cache_directory = cache.path(), .links = Links{}});
    const auto expected = train_two_steps(reference, assignment_of(reference.program(), 0));
    for (const int candidate : {0, 1, 100}) {
      const auto assignment = assignment_of(cuda.program(), candidate);
      SCOPED_TRACE(assignment_text(cuda.program(), assignment));
      expect_same_movements(train_two_steps(cuda, assignment), expected);
    }
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
  }
}

}  // namespace
}  // namespace vdnn::testing
