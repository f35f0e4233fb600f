#include "device/cpu/against_reference.h"

namespace vdnn::testing {
namespace {

constexpr std::int64_t kSlicedWorkspaceBytes = 16 << 20;

// Batches whose Winograd workspace is large enough to be cut.
Graph wide_network(std::int64_t batch, std::int64_t channels, std::int64_t side, bool bias) {
  return network_around({batch, channels, side, side}, [&](GraphBuilder& b, TensorId t) {
    const auto y =
        b.convolution("wide", t, {.channels = channels, .kernel = {3, 3}, .padding = {1, 1}, .bias = bias});
    return b.average_pool("pool", b.relu("relu", y), {.global = true});
  });
}

struct SlicedCandidate {
  std::size_t kernel = 0;
  int whole = 0;
  int sliced = 0;
};

std::vector<SlicedCandidate> sliced_candidates(const Program& program) {
  std::vector<SlicedCandidate> found;
  for (std::size_t k = 0; k < program.kernels.size(); ++k) {
    const auto& candidates = program.kernels[k].candidates;
    for (std::size_t whole = 0; whole < candidates.size(); ++whole) {
      for (std::size_t c = 0; candidates[whole].slices == 1 && c < candidates.size(); ++c) {
        if (candidates[c].slices == 1 || candidates[c].algorithm != candidates[whole].algorithm) continue;
        found.push_back({k, static_cast<int>(whole), static_cast<int>(c)});
      }
    }
  }
  return found;
}

std::string digest_with(Job& job, std::size_t kernel, int candidate) {
  std::vector<int> assignment = assign_candidates(job.program(), Algorithms::memory);
  assignment[kernel] = candidate;
  return train(job, unlimited_plan(job, assignment), {.poison = true}, 1).digest;
}

void expect_slices_change_nothing(const Graph& graph) {
  Job job(graph, {.device = "cpu", .threads = 2});
  for (const auto& found : sliced_candidates(job.program())) {
    const Kernel& kernel = job.program().kernels[found.kernel];
    if (kernel.op == "convolution_backward_weights") continue;
    EXPECT_EQ(digest_with(job, found.kernel, found.sliced), digest_with(job, found.kernel, found.whole))
        << kernel.signature << " in " << kernel.candidates[static_cast<std::size_t>(found.sliced)].slices
        << " slices";
  }
}

TEST(CpuSlicedConvolution, OfSixteenImagesHasTheBitsOfTheWhole) {
  expect_slices_change_nothing(wide_network(16, 256, 14, true));
}

TEST(CpuSlicedConvolution, OfThirtyTwoImagesHasTheBitsOfTheWhole) {
  expect_slices_change_nothing(wide_network(32, 256, 7, false));
}

TEST(CpuSlicedConvolution, OfOddSizesHasTheBitsOfTheWhole) {
  expect_slices_change_nothing(wide_network(16, 200, 13, true));
}

TEST(CpuSlicedConvolution, MatchesTheReferenceInEveryCandidate) {
  expect_cpu_matches_reference(wide_network(4, 256, 9, true));
}

// Forward and backward-data; slices of a weight gradient each need room for a sum of their own.
TEST(CpuSlicedConvolution, NeedsLessWorkspaceWhereTheWholeNeedsMuch) {
  Job job(wide_network(16, 256, 14, true), {.device = "cpu", .threads = 2});
  const auto sliced = sliced_candidates(job.program());
  for (std::size_t k = 0; k < job.program().kernels.size(); ++k) {
    const Kernel& kernel = job.program().kernels[k];
    if (kernel.op == "convolution_backward_weights") continue;
    for (std::size_t c = 0; c < kernel.candidates.size(); ++c) {
      const Candidate& whole = kernel.candidates[c];
      if (whole.slices > 1 || whole.workspace_bytes < kSlicedWorkspaceBytes) continue;
      std::int64_t least = whole.workspace_bytes;
      for (const auto& found : sliced) {
        if (found.kernel != k || found.whole != static_cast<int>(c)) continue;
        least = std::min(least, kernel.candidates[static_cast<std::size_t>(found.sliced)].workspace_bytes);
      }
      EXPECT_LT(least, whole.workspace_bytes) << kernel.signature;
    }
  }
}

}  // namespace
}  // namespace vdnn::testing
