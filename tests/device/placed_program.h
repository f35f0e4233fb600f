#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "vdnn/bytes.h"
#include "vdnn/device.h"

namespace vdnn::testing {

// A program on its device with a place of its own for every buffer, one workspace behind them that holds any
// candidate's, and gaps between all: no plan, so that kernels can be run one by one, in any candidate.
class PlacedProgram {
 public:
  using Bytes = std::vector<std::byte>;

  PlacedProgram(const Device& device, const TrainingGraph& graph)
      : executable_(device.lower(graph, 1)), program_(executable_->program()) {
    for (const auto& buffer : program_.buffers) offsets_.push_back(take(buffer.placed_bytes()));
    for (const auto& kernel : program_.kernels) {
      for (const auto& candidate : kernel.candidates)
        workspace_bytes_ = std::max(workspace_bytes_, candidate.workspace_bytes);
    }
    workspace_ = take(workspace_bytes_);
    context_ = executable_->open({.budget_bytes = end_, .planned_bytes = end_});
    context_->poison(0, end_);
    context_->synchronize();
    for (std::size_t t = 0; t < graph.tensors.size(); ++t) {
      const TensorId id(t);
      if (graph.storage[t] != id || graph.tensors[t].type == DataType::index8) continue;
      for (const auto& bound : executable_->tensor(id)) bound_[bound.buffer] = {id, bound};
    }
  }

  [[nodiscard]] const Program& program() const { return program_; }
  [[nodiscard]] const Executable& executable() const { return *executable_; }

  // The tensor in a buffer, named by the root of its storage, and which of its values; none for what lowering
  // made for itself.
  struct Held {
    TensorId tensor;
    BoundTensor bound;
  };
  [[nodiscard]] std::optional<Held> held(BufferId buffer) const {
    const auto found = bound_.find(buffer);
    return found == bound_.end() ? std::nullopt : std::optional(found->second);
  }

  // Runs a kernel with its workspace, and what lies behind it, full of NaN, and waits.
  void run(KernelId id, int candidate, const StepScalars& scalars) {
    const Kernel& kernel = program_.kernel(id);
    std::vector<std::int64_t> arguments;
    for (const auto* views : {&kernel.reads, &kernel.writes}) {
      for (const auto& view : *views) arguments.push_back(offset(view));
    }
    const auto bytes = kernel.candidates[static_cast<std::size_t>(candidate)].workspace_bytes;
    if (workspace_bytes_ > 0) context_->poison(workspace_, std::min(bytes + kGapBytes, workspace_bytes_));
    if (bytes > 0) arguments.push_back(workspace_);
    context_->launch(id, candidate, arguments, scalars);
    context_->synchronize();
    expect_same_gap(workspace_ + bytes, workspace_bytes_ - bytes);
  }

  [[nodiscard]] Bytes read(const View& view) const {
    Bytes bytes(static_cast<std::size_t>(view.bytes));
    context_->read_bytes(offset(view), bytes);
    return bytes;
  }
  void write(const View& view, const Bytes& bytes) { context_->write_bytes(offset(view), bytes); }
  void poison(const View& view) { context_->poison(offset(view), view.bytes); }

  [[nodiscard]] std::vector<float> read(BufferId buffer, std::int64_t first, std::int64_t count) const {
    std::vector<float> values(static_cast<std::size_t>(count));
    context_->read_values(buffer, offsets_[buffer.index()], first, values);
    return values;
  }
  void write(BufferId buffer, std::int64_t first, std::span<const float> values) {
    context_->write_values(buffer, offsets_[buffer.index()], first, values);
  }

  // All values of a tensor.
  [[nodiscard]] std::vector<float> read(TensorId tensor) const {
    std::vector<float> all;
    for (const auto& bound : executable_->tensor(tensor)) {
      const auto part = read(bound.buffer, 0, bound.count);
      all.insert(all.end(), part.begin(), part.end());
    }
    return all;
  }
  void write(TensorId tensor, std::span<const float> values) {
    for (const auto& bound : executable_->tensor(tensor))
      write(bound.buffer, 0,
            values.subspan(static_cast<std::size_t>(bound.first), static_cast<std::size_t>(bound.count)));
  }

  // That nothing was written beside the buffers, by whatever ran so far.
  void expect_same_gaps() const {
    for (const auto& [begin, bytes] : gaps_) expect_same_gap(begin, bytes);
  }

 private:
  static constexpr std::int64_t kGapBytes = 4096;

  [[nodiscard]] std::int64_t offset(const View& view) const {
    return offsets_[view.buffer.index()] + view.offset_bytes;
  }

  std::int64_t take(std::int64_t bytes) {
    const std::int64_t begin = end_;
    const std::int64_t gap = begin + bytes;
    end_ = round_up(gap + kGapBytes, kGapBytes);
    gaps_.emplace_back(gap, end_ - gap);
    return begin;
  }

  void expect_same_gap(std::int64_t begin, std::int64_t bytes) const {
    Bytes gap(static_cast<std::size_t>(std::min(bytes, kGapBytes)));
    context_->read_bytes(begin, gap);
    const bool same = std::ranges::all_of(gap, [](std::byte value) { return value == std::byte{0xff}; });
    EXPECT_TRUE(same) << "something was written at " << begin << " or up to " << gap.size()
                      << " bytes behind it, where nothing lies";
  }

  std::unique_ptr<Executable> executable_;
  const Program& program_;
  std::vector<std::int64_t> offsets_;  // by buffer
  std::vector<std::pair<std::int64_t, std::int64_t>> gaps_;
  std::int64_t workspace_ = 0;
  std::int64_t workspace_bytes_ = 0;
  std::int64_t end_ = 0;
  std::map<BufferId, Held> bound_;
  std::unique_ptr<DeviceContext> context_;
};

}  // namespace vdnn::testing
