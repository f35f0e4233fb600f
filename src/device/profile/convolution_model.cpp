#include "device/profile/convolution_model.h"

#include <array>
#include <bit>
#include <cmath>

namespace vdnn {
namespace {

constexpr std::int64_t kFloatBytes = 4;
constexpr std::int64_t kComplexBytes = 8;

// The names of the literature: N images, C input and K output channels, filters of R x S, outputs of P x Q.
struct Sizes {
  explicit Sizes(const ConvolutionKernel& kernel)
      : n(kernel.x[0]),
        c(kernel.x[1] / kernel.attributes.groups),
        k(kernel.y[1]),
        r(kernel.attributes.kernel.height),
        s(kernel.attributes.kernel.width),
        p(kernel.y[2]),
        q(kernel.y[3]) {}
  std::int64_t n, c, k, r, s, p, q;

  [[nodiscard]] double flops() const {
    return 2.0 * static_cast<double>(n * k) * static_cast<double>(p * q) * static_cast<double>(c * r * s);
  }
};

bool is_dense_unit_stride(const ConvolutionKernel& kernel) {
  const auto& a = kernel.attributes;
  return a.stride == Extent2d{1, 1} && a.dilation == Extent2d{1, 1} && a.groups == 1;
}

std::int64_t divided_up(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

// Chetlur et al., "cuDNN: Efficient Primitives for Deep Learning" (arXiv 1410.0759, section 3): the lowered
// matrix exists in registers and shared memory only.
std::optional<ConvolutionNeed> implicit_gemm(const ConvolutionKernel& kernel) {
  return ConvolutionNeed{.flops = Sizes(kernel).flops()};
}

// The same with a table of where each row and column of the lowered matrix begins in the input.
std::optional<ConvolutionNeed> implicit_precomp_gemm(const ConvolutionKernel& kernel) {
  const Sizes z(kernel);
  const std::int64_t bytes = kFloatBytes * (z.c * z.r * z.s + z.p * z.q);
  return ConvolutionNeed{.workspace_bytes = bytes,
                         .flops = z.flops(),
                         .workspace_traffic_bytes = 2.0 * static_cast<double>(bytes)};
}

// Lowers one image at a time (Jia et al., "Caffe", arXiv 1408.5093) into a CRS x PQ matrix; forward only, as
// in cuDNN.
std::optional<ConvolutionNeed> gemm(const ConvolutionKernel& kernel) {
  if (!kernel.forward) return {};
  const Sizes z(kernel);
  const std::int64_t bytes = kFloatBytes * z.c * z.r * z.s * z.p * z.q;
  return ConvolutionNeed{
      .workspace_bytes = bytes,
      .flops = z.flops(),
      .workspace_traffic_bytes = 2.0 * static_cast<double>(bytes) * static_cast<double>(z.n)};
}

// Transforms of `side` x `side` of all maps and filters (Mathieu, Henaff, LeCun, arXiv 1312.5851): real input
// halves the spectrum; a complex multiplication and addition is 8 operations, a real transform of n
// values 2.5 n log2 n.
ConvolutionNeed in_frequency_domain(const Sizes& z, std::int64_t side, std::int64_t tiles) {
  const std::int64_t spectrum = side * (side / 2 + 1);
  const std::int64_t maps = z.n * z.c * tiles + z.c * z.k + z.n * z.k * tiles;
  const std::int64_t bytes = kComplexBytes * spectrum * maps;
  const auto values = static_cast<double>(side * side);
  const double products =
      8.0 * static_cast<double>(spectrum) * static_cast<double>(z.n * tiles) * static_cast<double>(z.c * z.k);
  const double transforms = 2.5 * values * std::log2(values) * static_cast<double>(maps);
  return {.workspace_bytes = bytes,
          .flops = products + transforms,
          .workspace_traffic_bytes = 2.0 * static_cast<double>(bytes)};
}

// Whole maps, padded to the next power of two (Vasilache et al., "fbfft", arXiv 1412.7580, section 5), at
// most 256.
std::optional<ConvolutionNeed> fft(const ConvolutionKernel& kernel) {
  if (!is_dense_unit_stride(kernel)) return {};
  const auto& padding = kernel.attributes.padding;
  const std::int64_t largest = std::max(kernel.x[2] + 2 * padding.height, kernel.x[3] + 2 * padding.width);
  const auto side = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(largest)));
  if (side > 256) return {};
  return in_frequency_domain(Sizes(kernel), side, 1);
}

// Tiles of 32 x 32, of which each gives 33 - R by 33 - S outputs (cuDNN's "FFT with tiling").
std::optional<ConvolutionNeed> fft_tiling(const ConvolutionKernel& kernel) {
  constexpr std::int64_t kTile = 32;
  const Sizes z(kernel);
  if (!is_dense_unit_stride(kernel) || z.r > kTile || z.s > kTile) return {};
  const std::int64_t tiles = divided_up(z.p, kTile + 1 - z.r) * divided_up(z.q, kTile + 1 - z.s);
  return in_frequency_domain(z, kTile, tiles);
}

// F(2x2, 3x3) of Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks" (arXiv 1509.09308): 16
// multiplications instead of 36 for four outputs, and transforms of 32 (input tile), 28 (filter) and 24
// (output tile) additions. Tiles are transformed on the fly; the transformed filters are the workspace.
std::optional<ConvolutionNeed> winograd(const ConvolutionKernel& kernel) {
  const Sizes z(kernel);
  if (!is_dense_unit_stride(kernel) || z.r != 3 || z.s != 3) return {};
  const std::int64_t bytes = kFloatBytes * 16 * z.c * z.k;
  const auto tiles = static_cast<double>(z.n * divided_up(z.p, 2) * divided_up(z.q, 2));
  const double products = 2.0 * 16 * tiles * static_cast<double>(z.c * z.k);
  const double transforms = tiles * (32.0 * static_cast<double>(z.c) + 24.0 * static_cast<double>(z.k)) +
                            28.0 * static_cast<double>(z.c * z.k);
  return ConvolutionNeed{.workspace_bytes = bytes,
                         .flops = products + transforms,
                         .workspace_traffic_bytes = 2.0 * static_cast<double>(bytes)};
}

struct Family {
  const char* name;
  std::optional<ConvolutionNeed> (*need)(const ConvolutionKernel&);
};
constexpr std::array<Family, 6> kFamilies = {{{"implicit_gemm", implicit_gemm},
                                              {"implicit_precomp_gemm", implicit_precomp_gemm},
                                              {"gemm", gemm},
                                              {"fft", fft},
                                              {"fft_tiling", fft_tiling},
                                              {"winograd", winograd}}};

}  // namespace

std::vector<std::string> convolution_families() {
  std::vector<std::string> names;
  for (const auto& family : kFamilies) names.emplace_back(family.name);
  return names;
}

std::optional<ConvolutionNeed> convolution_need(std::string_view name, const ConvolutionKernel& kernel) {
  for (const auto& family : kFamilies) {
    if (family.name == name) return family.need(kernel);
  }
  return {};
}

}  // namespace vdnn
