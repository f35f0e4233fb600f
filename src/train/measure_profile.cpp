#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "device/profile/convolution_model.h"
#include "device/profile/machine_profile.h"
#include "vdnn/bytes.h"
#include "vdnn/error.h"
#include "vdnn/profile.h"
#include "vdnn/session.h"
#include "vdnn/version.h"
#include "vdnn/zoo.h"

namespace vdnn {
namespace {

// What a group of kernels did in all.
struct Rate {
  double work = 0;  // operations or bytes
  double seconds = 0;
  double best = 0;  // of a kernel, in work per second

  void add(double kernel_work, double kernel_seconds) {
    if (!(kernel_work > 0) || !(kernel_seconds > 0)) return;
    work += kernel_work;
    seconds += kernel_seconds;
    best = std::max(best, kernel_work / kernel_seconds);
  }
  [[nodiscard]] double mean() const { return seconds > 0 ? work / seconds : 0; }
};

// The family (convolution_model.h) that a device's algorithm belongs to; none where it has no model.
std::optional<std::string> family_of(const Candidate& candidate) {
  const std::string& algorithm = candidate.algorithm;
  if (algorithm == "direct") return "implicit_gemm";
  // cuDNN's engines have numbers, and say no more of themselves than that they transform.
  if (algorithm.starts_with("engine ")) {
    for (const char* transform : {"winograd", "fft"}) {
      if (algorithm.find(transform) != std::string::npos) return transform;
    }
    return candidate.workspace_bytes == 0 ? "implicit_gemm" : "implicit_precomp_gemm";
  }
  const auto known = convolution_families();
  if (std::find(known.begin(), known.end(), algorithm) != known.end()) return algorithm;
  return {};
}

class Measurements {
 public:
  void add(const TrainingGraph& graph, const Program& program) {
    std::map<std::pair<std::string, std::string>, const TrainingOp*> ops;  // by kind and name
    for (const auto& op : graph.ops) ops[{std::string(op_name(op.kind)), op.name}] = &op;
    for (const auto& kernel : program.kernels) {
      const auto op = ops.find({kernel.op, kernel.name});
      for (const auto& candidate : kernel.candidates) {
        if (candidate.seconds > 0) shortest_seconds_ = std::min(shortest_seconds_, candidate.seconds);
        if (op != ops.end()) add(graph, *op->second, kernel, candidate);
      }
    }
  }

  [[nodiscard]] MachineProfile profile() const {
    MachineProfile result;
    // Efficiencies are shares of the highest rate that any kernel reached.
    result.flops_per_s = matrix_.best;
    for (const auto& [family, rate] : convolutions_)
      result.flops_per_s = std::max(result.flops_per_s, rate.best);
    result.matrix_efficiency = matrix_.mean() / result.flops_per_s;
    result.memory_bytes_per_s = streaming_.best;
    result.memory_efficiency = streaming_.mean() / streaming_.best;
    result.launch_seconds = shortest_seconds_;
    for (const auto& family : convolution_families()) {
      if (const auto rate = convolutions_.find(family); rate != convolutions_.end())
        result.convolution_algorithms.push_back({family, rate->second.mean() / result.flops_per_s});
    }
    return result;
  }

  [[nodiscard]] bool complete() const {
    return matrix_.seconds > 0 && streaming_.seconds > 0 && convolutions_.contains("implicit_gemm");
  }

 private:
  void add(const TrainingGraph& graph, const TrainingOp& op, const Kernel& kernel,
           const Candidate& candidate) {
    switch (op.kind) {
      case OpKind::convolution:
        return add_convolution(graph, op, op.inputs[0], op.outputs[0], candidate);
      case OpKind::convolution_backward_data:
        return add_convolution(graph, op, op.outputs[0], op.inputs[1], candidate);
      case OpKind::convolution_backward_weights:
        return add_convolution(graph, op, op.inputs[0], op.inputs[1], candidate);
      case OpKind::fully_connected:
        return matrix_.add(2.0 * static_cast<double>(graph.tensor(op.inputs[1]).shape.elements()) *
                               static_cast<double>(graph.tensor(op.outputs[0]).shape[0]),
                           candidate.seconds);
      case OpKind::relu:
      case OpKind::relu_backward:
      case OpKind::max_pool:
      case OpKind::average_pool:
      case OpKind::add:
      case OpKind::batch_norm: {
        double bytes = 0;
        for (const auto* views : {&kernel.reads, &kernel.writes}) {
          for (const auto& view : *views) bytes += static_cast<double>(view.bytes);
        }
        constexpr double kLeastBytes = 1 << 20;  // what is smaller stays in caches
        if (bytes >= kLeastBytes) streaming_.add(bytes, candidate.seconds);
        return;
      }
      default:
        return;
    }
  }

  void add_convolution(const TrainingGraph& graph, const TrainingOp& op, TensorId x, TensorId y,
                       const Candidate& candidate) {
    const auto family = candidate.slices == 1 ? family_of(candidate) : std::nullopt;
    if (!family) return;
    const auto need = convolution_need(*family, {.x = graph.tensor(x).shape,
                                                 .y = graph.tensor(y).shape,
                                                 .attributes = std::get<ConvolutionAttributes>(op.attributes),
                                                 .forward = op.kind == OpKind::convolution});
    if (need) convolutions_[*family].add(need->flops, candidate.seconds);
  }

  std::map<std::string, Rate> convolutions_;  // by family
  Rate matrix_;
  Rate streaming_;
  double shortest_seconds_ = 1;
};

// Large enough to fill the device, small enough to be measured soon.
std::vector<ProfileRequest::Network> usual_networks(const std::string& device) {
  if (device.starts_with("cuda")) return {{"alexnet", 128, 224}, {"vgg-16", 32, 224}, {"resnet-50", 32, 224}};
  return {{"alexnet", 16, 224}, {"vgg-16", 4, 112}, {"resnet-50", 4, 112}};
}

}  // namespace

std::string measure_profile(const ProfileRequest& request) {
  const auto networks = request.networks.empty() ? usual_networks(request.device) : request.networks;
  Measurements measured;
  Links links;
  DeviceDescription device;
  for (const auto& [model, batch, image] : networks) {
    Job job(make_model(model, {.batch = batch, .image = image}), {.device = request.device,
                                                                  .threads = request.threads,
                                                                  .cache_directory = request.cache_directory,
                                                                  .spill_directory = request.spill_directory,
                                                                  .on_measure = request.on_measure});
    if (job.is_described()) {
      throw UsageError(
          fmt::format("{} is a description itself; there is nothing to measure", request.device));
    }
    job.measure_all_kernels();
    links = job.links();
    device = job.device();
    measured.add(job.graph(), job.program());
  }
  if (!measured.complete())
    throw UsageError(
        "the networks have too few kinds of kernels: they need convolutions, a fully connected layer and "
        "activations of 1 MiB");
  MachineProfile profile = measured.profile();
  profile.name = request.name;
  profile.summary = fmt::format("{}: {}", device.name, device.summary);
  profile.sources = {
      fmt::format("measured by vdnn {}: kernels alone, copies alone and beside kernels", version())};
  profile.memory_bytes = device.free_bytes;
  profile.links = links;
  return to_json(profile);
}

}  // namespace vdnn
