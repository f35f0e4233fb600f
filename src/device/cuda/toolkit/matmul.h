#pragma once

#include <cublasLt.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "device/cuda/toolkit/libraries.h"
#include "vdnn/program.h"

namespace vdnn::cuda {

enum class Orientation { as_is, transposed };

// An operand as it lies in memory, row-major.
struct MatmulOperand {
  Orientation orientation = Orientation::as_is;  // transposed: the product takes its transpose
  std::int64_t row_stride = 0;                   // values from one row in memory to the next
  std::int64_t alignment_bytes = 64;             // of its first value
};

// c = a b [+ bias], with a [m x k] and b [k x n] after their transposition, c [m x n] dense, and a bias value
// per column of c.
struct MatmulProblem {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  MatmulOperand a;
  MatmulOperand b;
  bool bias = false;
};

// Device memory of a product.
struct MatmulArguments {
  const float* a = nullptr;
  const float* b = nullptr;
  const float* bias = nullptr;  // null where the problem has none
  float* c = nullptr;
  std::byte* workspace = nullptr;  // as stated by the candidate
};

// A product by cuBLASLt, in the ways that its heuristics propose.
class Matmul {
 public:
  // Throws UnsupportedError, with `name` in its text, where there is no way.
  Matmul(Libraries& libraries, const MatmulProblem& problem, std::string_view name);

  // The first has the least workspace.
  [[nodiscard]] std::vector<Candidate> candidates() const;
  // Enqueues. Throws DeviceError.
  void run(int candidate, Libraries& libraries, cudaStream_t stream, const MatmulArguments& arguments) const;

 private:
  struct Way {
    cublasLtMatmulAlgo_t algorithm;
    std::int64_t workspace_bytes;
    std::string name;
  };

  // cuBLAS counts in columns: it is asked for the transposed product, b' a', of the same memory.
  struct Layouts {
    cublasLtMatrixLayoutOpaque_t a;
    cublasLtMatrixLayoutOpaque_t b;
    cublasLtMatrixLayoutOpaque_t c;
  };

  [[nodiscard]] cublasLtMatmulDescOpaque_t operation(const float* bias) const;
  void add_ways(Libraries& libraries, std::int64_t most_workspace_bytes, int most);

  MatmulProblem problem_;
  Precision precision_;
  Layouts layouts_{};
  std::vector<Way> ways_;
};

}  // namespace vdnn::cuda
