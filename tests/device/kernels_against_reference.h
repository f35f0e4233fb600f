#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/counter_random.h"
#include "device/placed_program.h"
#include "vdnn/device.h"

namespace vdnn::testing {

// How far a value may be from the reference's, as a share of the largest of its buffer.
struct KernelTolerance {
  double plain = 0;
  double transformed = 0;  // of algorithms that convolve by way of a transform
};

struct TestedKernels {
  const char* device = "";
  DeviceOptions options{};
  KernelTolerance tolerance{};
  bool inverse_deviations = false;  // the device keeps 1 / sqrt(variance + epsilon) as a batch's variance
};

// A training step kernel by kernel beside the reference device's. Every candidate of a kernel starts from the
// reference's values, with NaN in what it is to write and in its workspace; afterwards the device's values
// are replaced by the reference's, so that differences do not add up, and no rounding decides another way at
// a kink or between equal maxima.
class KernelsAgainstReference {
 public:
  KernelsAgainstReference(const Graph& graph, TestedKernels tested)
      : tested_(std::move(tested)),
        graph_(differentiate(graph, {.momentum = 0.9, .weight_decay = 0.01})),
        reference_(*open_device("reference"), graph_),
        device_(*open_device(tested_.device, tested_.options), graph_) {
    draw_persistent_values();
    for (const auto& op : graph_.ops) {
      if (op.kind == OpKind::batch_norm && tested_.inverse_deviations)
        epsilons_[root(op.outputs[2])] = std::get<BatchNormAttributes>(op.attributes).epsilon;
    }
  }

  void expect_same() {
    for (std::size_t k = 0; k < device_.program().kernels.size(); ++k) {
      expect_same(KernelId(k));
      if (failures_ >= kMostFailures) return;
    }
    EXPECT_EQ(next_op_, graph_.ops.size()) << "ops without a kernel";
    device_.expect_same_gaps();
  }

  // How far the tolerances are from what is needed.
  [[nodiscard]] std::string summary() const {
    return fmt::format(
        "{}: {} candidates, farthest {:.1e} of the largest value in {}, {:.1e} transformed in {}",
        graph_.name, candidates_run_, farthest_.plain, farthest_kernel_.plain, farthest_.transformed,
        farthest_kernel_.transformed);
  }

 private:
  static constexpr int kMostFailures = 20;
  static constexpr StepScalars kScalars{.seed = 11, .step = 5, .learning_rate = 0.05};

  [[nodiscard]] TensorId root(TensorId tensor) const { return graph_.storage[tensor.index()]; }

  static std::vector<float> uniform(std::int64_t count, std::uint32_t stream, float low, float high) {
    const CounterRandom random(17, stream, 0);
    std::vector<float> values(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = low + (high - low) * random.uniform(i);
    return values;
  }

  void write_both(TensorId tensor, const std::vector<float>& values) {
    reference_.write(tensor, values);
    device_.write(tensor, values);
  }

  void draw_persistent_values() {
    std::uint32_t stream = 0;
    const auto draw = [&](TensorId tensor, float low, float high) {
      write_both(tensor, uniform(graph_.tensor(tensor).shape.elements(), ++stream, low, high));
    };
    draw(graph_.staged_images, -1, 1);
    auto labels = uniform(graph_.tensor(graph_.staged_labels).shape.elements(), ++stream, 0,
                          static_cast<float>(graph_.classes));
    for (float& label : labels) label = std::floor(label);
    write_both(graph_.staged_labels, labels);
    for (const auto& trained : graph_.parameters) {
      const Parameter& parameter = trained.parameter;
      if (parameter.statistics || parameter.initializer == Initializer::ones) {
        draw(trained.tensor, 0.5F, 1.5F);
      } else {
        const auto fan_in =
            static_cast<float>(parameter.initializer == Initializer::zeros ? 100 : parameter.fan_in);
        const float most = std::sqrt(3 / fan_in);
        draw(trained.tensor, -most, most);
      }
      for (const auto state : trained.optimizer_state) draw(state, -0.01F, 0.01F);
    }
  }

  // Runs the reference up to the op that the kernel belongs to. Gradients of slices of a weight come with
  // their updates, when the reference has made the whole gradient already.
  void follow(const Kernel& kernel) {
    for (std::size_t op = next_op_; op < graph_.ops.size(); ++op) {
      if (kernel.name != graph_.ops[op].name || kernel.op != op_name(graph_.ops[op].kind) ||
          kernel.phase != graph_.ops[op].phase)
        continue;
      while (next_op_ <= op) run_reference(next_op_++);
      return;
    }
  }

  void run_reference(std::size_t op) {
    reference_.run(KernelId(op), 0, kScalars);
    for (const auto output : graph_.ops[op].outputs) {
      if (graph_.tensor(output).type == DataType::float32) reference_.write(output, reference_.read(output));
    }
  }

  // What a view is to hold; empty where only the device knows.
  [[nodiscard]] std::vector<float> expected(const View& view) const {
    const auto held = device_.held(view.buffer);
    if (!held) return {};
    const auto all = reference_.read(held->tensor);
    const auto [first, count] = values_of(view);
    const auto begin = all.begin() + held->bound.first + first;
    std::vector<float> values(begin, begin + count);
    if (const auto found = epsilons_.find(held->tensor); found != epsilons_.end()) {
      for (float& value : values) value = static_cast<float>(1 / std::sqrt(value + found->second));
    }
    return values;
  }

  // A view's values within its buffer: first and count.
  [[nodiscard]] std::pair<std::int64_t, std::int64_t> values_of(const View& view) const {
    const auto held = device_.held(view.buffer);
    if (held && view.bytes == device_.program().buffer(view.buffer).bytes) return {0, held->bound.count};
    return {view.offset_bytes / 4, view.bytes / 4};
  }

  void expect_same(KernelId id) {
    const Kernel& kernel = device_.program().kernel(id);
    std::vector<PlacedProgram::Bytes> before;
    for (const auto& view : kernel.writes) before.push_back(device_.read(view));
    follow(kernel);
    std::vector<std::vector<float>> wanted;
    for (const auto& view : kernel.writes) wanted.push_back(expected(view));
    for (std::size_t c = 0; c < kernel.candidates.size(); ++c) {
      const Candidate& candidate = kernel.candidates[c];
      SCOPED_TRACE(fmt::format("{} {}, {}, candidate {}: {} in {} bytes", phase_name(kernel.phase),
                               kernel.name, kernel.signature, c, candidate.algorithm,
                               candidate.workspace_bytes));
      const auto bits = run(id, static_cast<int>(c), before);
      for (std::size_t w = 0; w < kernel.writes.size(); ++w)
        expect_near(kernel, candidate, kernel.writes[w], wanted[w]);
      if (tested_.options.deterministic && run(id, static_cast<int>(c), before) != bits) {
        ++failures_;
        ADD_FAILURE() << "other bits when run again";
      }
    }
    for (std::size_t w = 0; w < kernel.writes.size(); ++w) {
      if (device_.held(kernel.writes[w].buffer))
        device_.write(kernel.writes[w].buffer, values_of(kernel.writes[w]).first, wanted[w]);
    }
  }

  // Bytes of what the kernel wrote.
  std::vector<PlacedProgram::Bytes> run(KernelId id, int candidate,
                                        const std::vector<PlacedProgram::Bytes>& before) {
    const Kernel& kernel = device_.program().kernel(id);
    for (std::size_t w = 0; w < kernel.writes.size(); ++w) {
      if (std::ranges::find(kernel.reads, kernel.writes[w]) != kernel.reads.end()) {
        device_.write(kernel.writes[w], before[w]);
      } else {
        device_.poison(kernel.writes[w]);
      }
    }
    device_.run(id, candidate, kScalars);
    ++candidates_run_;
    std::vector<PlacedProgram::Bytes> written;
    for (const auto& view : kernel.writes) written.push_back(device_.read(view));
    return written;
  }

  static bool transforms(const Candidate& candidate) {
    return candidate.algorithm.find("winograd") != std::string::npos ||
           candidate.algorithm.find("fft") != std::string::npos;
  }

  // Where the reference has no such tensor, the first candidate's values become what is wanted of the others;
  // the kernel that reads them shows whether they are right.
  void expect_near(const Kernel& kernel, const Candidate& candidate, const View& view,
                   std::vector<float>& wanted) {
    const Buffer& buffer = device_.program().buffer(view.buffer);
    if (buffer.saved_state) return;
    const auto [first, count] = values_of(view);
    const auto values = device_.read(view.buffer, first, count);
    if (wanted.empty()) wanted = values;
    double largest = 0;
    for (const float value : wanted) largest = std::max(largest, std::abs(static_cast<double>(value)));
    const auto field = transforms(candidate) ? &KernelTolerance::transformed : &KernelTolerance::plain;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double difference = std::abs(static_cast<double>(values[i]) - static_cast<double>(wanted[i]));
      if (difference <= tested_.tolerance.*field * largest) {  // false for NaN
        note(kernel, field, difference, largest);
        continue;
      }
      ++failures_;
      ADD_FAILURE() << buffer.name << "[" << i << "] is " << values[i] << " instead of " << wanted[i] << ", "
                    << difference / largest << " of the largest value " << largest;
      return;
    }
  }

  void note(const Kernel& kernel, double KernelTolerance::*field, double difference, double largest) {
    if (difference <= farthest_.*field * largest) return;
    farthest_.*field = difference / largest;
    (field == &KernelTolerance::plain ? farthest_kernel_.plain : farthest_kernel_.transformed) =
        kernel.signature;
  }

  TestedKernels tested_;
  TrainingGraph graph_;
  PlacedProgram reference_;
  PlacedProgram device_;
  std::map<TensorId, double> epsilons_;  // of tensors that hold inverse deviations on the device
  std::size_t next_op_ = 0;              // that the reference has not run
  int candidates_run_ = 0;
  int failures_ = 0;
  KernelTolerance farthest_;
  struct {
    std::string plain = "none";
    std::string transformed = "none";
  } farthest_kernel_;
};

}  // namespace vdnn::testing
