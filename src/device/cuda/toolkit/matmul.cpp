#include "device/cuda/toolkit/matmul.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "device/cuda/toolkit/api.h"
#include "device/cuda/toolkit/workspace.h"
#include "vdnn/bytes.h"
#include "vdnn/error.h"

namespace vdnn::cuda {
namespace {

// What NVIDIA recommends for its larger GPUs.
constexpr std::int64_t kMostWorkspaceBytes = 32 * kMiB;
constexpr int kMostWays = 4;

cublasLtMatrixLayoutOpaque_t matrix(std::int64_t rows, std::int64_t columns, std::int64_t column_stride) {
  cublasLtMatrixLayoutOpaque_t made{};
  check(api().cublasLtMatrixLayoutInit_internal(&made, sizeof(made), CUDA_R_32F,
                                                static_cast<std::uint64_t>(rows),
                                                static_cast<std::uint64_t>(columns), column_stride),
        "cublasLtMatrixLayoutInit");
  return made;
}

// A row-major [rows x columns] operand, or what its transpose is of, to a library that counts in columns.
cublasLtMatrixLayoutOpaque_t matrix(const MatmulOperand& operand, std::int64_t rows, std::int64_t columns) {
  if (operand.orientation == Orientation::transposed) std::swap(rows, columns);
  return matrix(columns, rows, operand.row_stride);
}

template <class Value>
void set(cublasLtMatmulDescOpaque_t& operation, cublasLtMatmulDescAttributes_t name, const Value& value) {
  check(api().cublasLtMatmulDescSetAttribute(&operation, name, &value, sizeof(value)),
        "cublasLtMatmulDescSetAttribute");
}

template <class Value>
void set(cublasLtMatmulPreferenceOpaque_t& preference, cublasLtMatmulPreferenceAttributes_t name,
         const Value& value) {
  check(api().cublasLtMatmulPreferenceSetAttribute(&preference, name, &value, sizeof(value)),
        "cublasLtMatmulPreferenceSetAttribute");
}

cublasOperation_t operation_of(const MatmulOperand& operand) {
  return operand.orientation == Orientation::transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
}

cublasLtMatmulPreferenceOpaque_t preference(const MatmulProblem& problem, const Precision& precision,
                                            std::int64_t most_workspace_bytes) {
  cublasLtMatmulPreferenceOpaque_t made{};
  check(api().cublasLtMatmulPreferenceInit_internal(&made, sizeof(made)), "cublasLtMatmulPreferenceInit");
  set(made, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, static_cast<std::uint64_t>(most_workspace_bytes));
  // Sums in place are made in turns that nothing promises to be the same ones in every run.
  std::uint32_t schemes = CUBLASLT_REDUCTION_SCHEME_MASK;
  if (precision.deterministic) schemes &= ~std::uint32_t{CUBLASLT_REDUCTION_SCHEME_INPLACE};
  set(made, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, schemes);
  constexpr std::uint32_t kDenseAlignmentBytes = kPlacedAlignmentBytes;
  set(made, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES,
      static_cast<std::uint32_t>(problem.b.alignment_bytes));
  set(made, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
      static_cast<std::uint32_t>(problem.a.alignment_bytes));
  set(made, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, kDenseAlignmentBytes);
  set(made, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, kDenseAlignmentBytes);
  return made;
}

std::int32_t number_of(const cublasLtMatmulAlgo_t& algorithm) {
  std::int32_t number = 0;
  std::size_t written_bytes = 0;
  check(api().cublasLtMatmulAlgoConfigGetAttribute(&algorithm, CUBLASLT_ALGO_CONFIG_ID, &number,
                                                   sizeof(number), &written_bytes),
        "cublasLtMatmulAlgoConfigGetAttribute");
  return number;
}

}  // namespace

Matmul::Matmul(Libraries& libraries, const MatmulProblem& problem, std::string_view name)
    : problem_(problem), precision_(libraries.precision()) {
  layouts_ = {matrix(problem.b, problem.k, problem.n), matrix(problem.a, problem.m, problem.k),
              matrix(problem.n, problem.m, problem.n)};
  add_ways(libraries, 0, 1);
  add_ways(libraries, kMostWorkspaceBytes, kMostWays);
  if (ways_.empty()) {
    throw UnsupportedError(fmt::format("device cuda: {}: cuBLASLt has no product {}x{}x{}{}", name, problem.m,
                                       problem.n, problem.k, precision_text(precision_)));
  }
  std::stable_sort(ways_.begin(), ways_.end(), [](const Way& one, const Way& other) {
    return one.workspace_bytes < other.workspace_bytes;
  });
}

cublasLtMatmulDescOpaque_t Matmul::operation(const float* bias) const {
  cublasLtMatmulDescOpaque_t made{};
  check(api().cublasLtMatmulDescInit_internal(
            &made, sizeof(made), precision_.tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F,
            CUDA_R_32F),
        "cublasLtMatmulDescInit");
  set(made, CUBLASLT_MATMUL_DESC_TRANSA, operation_of(problem_.b));
  set(made, CUBLASLT_MATMUL_DESC_TRANSB, operation_of(problem_.a));
  if (!problem_.bias) return made;
  set(made, CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
  set(made, CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
  return made;
}

void Matmul::add_ways(Libraries& libraries, std::int64_t most_workspace_bytes, int most) {
  // The heuristics look at a bias's alignment, never at its values.
  auto product =
      operation(reinterpret_cast<const float*>(static_cast<std::uintptr_t>(kPlacedAlignmentBytes)));
  auto preferred = preference(problem_, precision_, most_workspace_bytes);
  std::array<cublasLtMatmulHeuristicResult_t, kMostWays> results{};
  int count = 0;
  const cublasStatus_t status = api().cublasLtMatmulAlgoGetHeuristic(
      libraries.cublas(), &product, &layouts_.a, &layouts_.b, &layouts_.c, &layouts_.c, &preferred,
      std::min(most, kMostWays), results.data(), &count);
  if (status == CUBLAS_STATUS_NOT_SUPPORTED) return;
  check(status, "cublasLtMatmulAlgoGetHeuristic");
  for (const auto& result : std::span(results).first(static_cast<std::size_t>(count))) {
    if (result.state != CUBLAS_STATUS_SUCCESS || std::ssize(ways_) == kMostWays) continue;
    const bool known = std::any_of(ways_.begin(), ways_.end(), [&](const Way& way) {
      return std::memcmp(&way.algorithm, &result.algo, sizeof(result.algo)) == 0;
    });
    if (known) continue;
    const std::string base = fmt::format("gemm {}", number_of(result.algo));
    std::string name = base;
    for (int i = 2; std::any_of(ways_.begin(), ways_.end(), [&](const Way& way) { return way.name == name; });
         ++i) {
      name = fmt::format("{}.{}", base, i);
    }
    ways_.push_back({result.algo, static_cast<std::int64_t>(result.workspaceSize), std::move(name)});
  }
}

std::vector<Candidate> Matmul::candidates() const {
  std::vector<Candidate> all;
  for (const auto& way : ways_) {
    all.push_back({.algorithm = way.name, .workspace_bytes = stated_workspace_bytes(way.workspace_bytes)});
  }
  return all;
}

void Matmul::run(int candidate, Libraries& libraries, cudaStream_t stream,
                 const MatmulArguments& arguments) const {
  const Way& way = ways_[static_cast<std::size_t>(candidate)];
  // Of its own, because the library takes what it only reads as what may change.
  auto product = operation(arguments.bias);
  auto layouts = layouts_;
  const float one = 1;
  const float zero = 0;
  std::byte* workspace = way.workspace_bytes > 0 ? aligned_workspace(arguments.workspace) : nullptr;
  check(
      api().cublasLtMatmul(libraries.cublas(), &product, &one, arguments.b, &layouts.a, arguments.a,
                           &layouts.b, &zero, arguments.c, &layouts.c, arguments.c, &layouts.c,
                           &way.algorithm, workspace, static_cast<std::size_t>(way.workspace_bytes), stream),
      "cublasLtMatmul");
}

}  // namespace vdnn::cuda
