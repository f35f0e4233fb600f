#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

namespace vdnn::cli {

// One of the ten networks of the paper's evaluation, with what was published of it and, where nothing was,
// what arithmetic gives (fp32, in-place activations, no workspace). Gigabytes as printed there.
struct PaperNetwork {
  const char* name;
  const char* model;
  std::int64_t batch;
  bool conventional;                             // AlexNet to VGG-16, not one of the deep ones
  std::optional<double> network_wide_gigabytes;  // published
  std::optional<double> feature_extraction_share;
  std::optional<double> average_saving;
  double base_gigabytes;          // by arithmetic: feature maps, weights twice, the largest map twice
  double offload_all_gigabytes;   // by arithmetic, per iteration
  double offload_conv_gigabytes;  // by arithmetic
};

inline constexpr std::size_t kPaperNetworkCount = 10;
inline constexpr std::array<PaperNetwork, kPaperNetworkCount> kPaperNetworks = {{
    {"AlexNet (128)", "alexnet", 128, true, 1.1, 0.81, 0.89, 1.06, 0.37, 0.17},
    {"OverFeat (128)", "overfeat", 128, true, {}, {}, 0.91, 2.06, 0.56, 0.25},
    {"GoogLeNet (128)", "googlenet", 128, true, {}, {}, 0.95, 3.33, 2.43, 1.43},
    {"VGG-16 (64)", "vgg-16", 64, true, {}, {}, {}, 6.65, 3.89, 2.32},
    {"VGG-16 (128)", "vgg-16", 128, true, 14, {}, {}, 12.20, 7.78, 4.65},
    {"VGG-16 (256)", "vgg-16", 256, true, 28, 0.96, {}, 23.29, 15.57, 9.30},
    {"VGG-116 (32)", "vgg-116", 32, false, {}, {}, {}, 20.43, 17.62, 16.83},
    {"VGG-216 (32)", "vgg-216", 32, false, {}, {}, {}, 36.98, 33.29, 32.50},
    {"VGG-316 (32)", "vgg-316", 32, false, {}, {}, {}, 53.53, 48.96, 48.18},
    {"VGG-416 (32)", "vgg-416", 32, false, 67, {}, {}, 70.08, 64.63, 63.85},
}};

// Of the evaluation as a whole (Rhu et al., MICRO 2016, abstract and section 5).
namespace paper {
inline constexpr double kUnusedLeast = 0.53;
inline constexpr double kUnusedMost = 0.79;
inline constexpr double kAverageCutLeast = 0.73;  // of the six networks beyond 12 GB
inline constexpr double kAverageCutMost = 0.98;
inline constexpr double kSlowdownLeast = 1.01;  // of the same, against the oracle
inline constexpr double kSlowdownMost = 1.18;
inline constexpr double kVgg256Speed = 0.82;  // of the oracle's
// Not confirmed from an available text:
inline constexpr double kDynThroughput = 0.97;         // of the baseline's, on networks that fit
inline constexpr double kAllMemoryOptimalLoss = 0.58;  // of performance, on average
}  // namespace paper

}  // namespace vdnn::cli
