#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "support/cuda/on_host/stand_in_cuda.h"

namespace vdnn::testing {
namespace {

// A function of the real library that vdnn itself does not call.
template <class Function>
Function real(const char* name) {
  static void* const kLibrary =
      dlopen(fmt::format("libcublasLt.so.{}", CUBLAS_VER_MAJOR).c_str(), RTLD_NOW | RTLD_NOLOAD);
  void* const found = kLibrary == nullptr ? nullptr : dlsym(kLibrary, name);
  if (found == nullptr) misuse(fmt::format("no {}", name));
  return reinterpret_cast<Function>(found);
}
#define VDNN_REAL(name) real<decltype(&::name)>(#name)

template <class Value, class Function, class Descriptor, class Name>
Value get(Function function, Descriptor descriptor, Name name) {
  Value value{};
  std::size_t bytes = 0;
  expect(function(descriptor, name, &value, sizeof value, &bytes) == CUBLAS_STATUS_SUCCESS, "an attribute");
  return value;
}

template <class Value>
Value get(cublasLtMatmulDesc_t product, cublasLtMatmulDescAttributes_t name) {
  return get<Value>(VDNN_REAL(cublasLtMatmulDescGetAttribute), product, name);
}
template <class Value>
Value get(cublasLtMatmulPreference_t preference, cublasLtMatmulPreferenceAttributes_t name) {
  return get<Value>(VDNN_REAL(cublasLtMatmulPreferenceGetAttribute), preference, name);
}

// A matrix as it lies, columns apart.
struct Matrix {
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t column_stride;

  explicit Matrix(cublasLtMatrixLayout_t layout) {
    const auto read = VDNN_REAL(cublasLtMatrixLayoutGetAttribute);
    rows = get<std::int64_t>(read, layout, CUBLASLT_MATRIX_LAYOUT_ROWS);
    columns = get<std::int64_t>(read, layout, CUBLASLT_MATRIX_LAYOUT_COLS);
    column_stride = get<std::int64_t>(read, layout, CUBLASLT_MATRIX_LAYOUT_LD);
    expect(get<std::uint32_t>(read, layout, CUBLASLT_MATRIX_LAYOUT_TYPE) == CUDA_R_32F, "float32 alone");
    expect(column_stride >= rows, "columns overlap");
  }
};

// What is kept in the library's opaque algorithm.
struct Algorithm {
  std::int32_t number;
  std::int32_t setting;
  std::uint64_t workspace_bytes;
  std::uint32_t alignment_bytes[4];  // of a, b, c, d
};
static_assert(sizeof(Algorithm) <= sizeof(cublasLtMatmulAlgo_t));

Algorithm algorithm_of(const cublasLtMatmulAlgo_t& opaque) {
  Algorithm algorithm{};
  std::memcpy(&algorithm, &opaque, sizeof algorithm);
  return algorithm;
}

cublasStatus_t create(cublasLtHandle_t* handle) {
  *handle = reinterpret_cast<cublasLtHandle_t>(new int);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t destroy(cublasLtHandle_t handle) {
  delete reinterpret_cast<int*>(handle);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t heuristic(cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t,
                         cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                         cublasLtMatmulPreference_t preference, int most,
                         cublasLtMatmulHeuristicResult_t* results, int* count) {
  std::vector<Algorithm> known = {{.number = 67, .workspace_bytes = (4 << 20) + 8},
                                  {.number = 21},
                                  {.number = 67, .setting = 1, .workspace_bytes = 1000},
                                  {.number = 0}};
  const auto most_bytes = get<std::uint64_t>(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
  *count = 0;
  for (auto& algorithm : known) {
    if (algorithm.workspace_bytes > most_bytes || *count == most) continue;
    int i = 0;
    for (const auto name :
         {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
          CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES})
      algorithm.alignment_bytes[i++] = get<std::uint32_t>(preference, name);
    auto& result = results[(*count)++];
    result = {};
    std::memcpy(&result.algo, &algorithm, sizeof algorithm);
    result.workspaceSize = algorithm.workspace_bytes;
    result.state = CUBLAS_STATUS_SUCCESS;
  }
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t configuration(const cublasLtMatmulAlgo_t* opaque, cublasLtMatmulAlgoConfigAttributes_t name,
                             void* value, std::size_t bytes, std::size_t* written_bytes) {
  expect(name == CUBLASLT_ALGO_CONFIG_ID && bytes == sizeof(std::int32_t), "the number alone");
  const std::int32_t number = algorithm_of(*opaque).number;
  std::memcpy(value, &number, bytes);
  *written_bytes = bytes;
  return CUBLAS_STATUS_SUCCESS;
}

struct Operand {
  Matrix lies;
  bool transposed;
  const float* values;

  [[nodiscard]] std::int64_t rows() const { return transposed ? lies.columns : lies.rows; }
  [[nodiscard]] std::int64_t columns() const { return transposed ? lies.rows : lies.columns; }
  [[nodiscard]] float at(std::int64_t row, std::int64_t column) const {
    return transposed ? values[row * lies.column_stride + column] : values[column * lies.column_stride + row];
  }
};

// d = a b [+ a bias per row], by columns of d.
struct Product {
  Operand a;
  Operand b;
  const float* bias;
  Matrix d_lies;
  float* d;

  void run() const {
    const std::int64_t rows = a.rows();
    const std::int64_t inner = a.columns();
    std::vector<float> dense(static_cast<std::size_t>(rows * inner));  // a, its columns dense
    for (std::int64_t k = 0; k < inner; ++k) {
      for (std::int64_t i = 0; i < rows; ++i) dense[static_cast<std::size_t>(k * rows + i)] = a.at(i, k);
    }
#pragma omp parallel for
    for (std::int64_t j = 0; j < b.columns(); ++j) {
      std::vector<double> column(static_cast<std::size_t>(rows), 0.0);
      for (std::int64_t k = 0; k < inner; ++k) {
        const double factor = b.at(k, j);
        const float* values = dense.data() + k * rows;
        for (std::int64_t i = 0; i < rows; ++i) column[static_cast<std::size_t>(i)] += factor * values[i];
      }
      for (std::int64_t i = 0; i < rows; ++i) {
        const double sum = column[static_cast<std::size_t>(i)] + (bias == nullptr ? 0.0 : bias[i]);
        d[j * d_lies.column_stride + i] = static_cast<float>(sum);
      }
    }
  }
};

cublasStatus_t matmul(cublasLtHandle_t, cublasLtMatmulDesc_t product, const void* alpha, const void* a,
                      cublasLtMatrixLayout_t a_layout, const void* b, cublasLtMatrixLayout_t b_layout,
                      const void* beta, const void* c, cublasLtMatrixLayout_t, void* d,
                      cublasLtMatrixLayout_t d_layout, const cublasLtMatmulAlgo_t* opaque, void* workspace,
                      std::size_t workspace_bytes, cudaStream_t stream) {
  expect(*static_cast<const float*>(alpha) == 1 && *static_cast<const float*>(beta) == 0 && c == d,
         "plain products alone");
  const Algorithm algorithm = algorithm_of(*opaque);
  int i = 0;
  for (const void* pointer : {a, b, c, static_cast<const void*>(d)})
    expect(reinterpret_cast<std::uintptr_t>(pointer) % algorithm.alignment_bytes[i++] == 0,
           "an operand less aligned than was said");
  expect(workspace_bytes >= algorithm.workspace_bytes, "too little workspace");
  expect(workspace_bytes == 0 ||
             (workspace != nullptr && reinterpret_cast<std::uintptr_t>(workspace) % 256 == 0),
         "a workspace that is not aligned");
  const auto transposed = [&](cublasLtMatmulDescAttributes_t name) {
    return get<std::int32_t>(product, name) == CUBLAS_OP_T;
  };
  const bool bias = get<std::uint32_t>(product, CUBLASLT_MATMUL_DESC_EPILOGUE) == CUBLASLT_EPILOGUE_BIAS;
  const Product work{
      .a = {Matrix(a_layout), transposed(CUBLASLT_MATMUL_DESC_TRANSA), static_cast<const float*>(a)},
      .b = {Matrix(b_layout), transposed(CUBLASLT_MATMUL_DESC_TRANSB), static_cast<const float*>(b)},
      .bias = bias ? get<const float*>(product, CUBLASLT_MATMUL_DESC_BIAS_POINTER) : nullptr,
      .d_lies = Matrix(d_layout),
      .d = static_cast<float*>(d)};
  expect(work.a.columns() == work.b.rows() && work.a.rows() == work.d_lies.rows &&
             work.b.columns() == work.d_lies.columns,
         "matrices that do not fit");
  expect(!bias || work.bias != nullptr, "no bias");
  enqueue(stream, [=] {
    if (workspace_bytes > 0) std::memset(workspace, 0xff, workspace_bytes);
    work.run();
  });
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace

void stand_in_for_cublas(cuda::Api& api) {
  api.cublasLtCreate = create;
  api.cublasLtDestroy = destroy;
  api.cublasLtMatmul = matmul;
  api.cublasLtMatmulAlgoGetHeuristic = heuristic;
  api.cublasLtMatmulAlgoConfigGetAttribute = configuration;
}

}  // namespace vdnn::testing
