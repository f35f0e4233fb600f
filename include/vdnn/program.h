#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "vdnn/training_graph.h"

namespace vdnn {

using BufferId = Id<struct BufferTag>;
using KernelId = Id<struct KernelTag>;

// A piece of device memory that is placed, moved and released as one.
struct Buffer {
  std::string name;
  Role role = Role::feature_map;
  std::int64_t bytes = 0;             // what the kernels use
  std::int64_t alignment_bytes = 64;  // of its offset; its place is padded to a multiple of it
  bool persistent = false;            // survives from step to step
  bool result = false;                // read by the host when the step is over
  bool saved_state = false;  // made by a forward kernel for backward alone (pool indices, statistics)
  LayerId made_by;           // the layer whose kernel writes it first

  [[nodiscard]] std::int64_t placed_bytes() const {
    return (bytes + alignment_bytes - 1) / alignment_bytes * alignment_bytes;
  }
};

// Part of a buffer as a kernel sees it.
struct View {
  BufferId buffer;
  std::int64_t offset_bytes = 0;
  std::int64_t bytes = 0;
  friend bool operator==(const View&, const View&) = default;
};

// One way to run a kernel: an algorithm with its reorders, in a number of slices of the batch.
struct Candidate {
  std::string algorithm;  // "direct", "winograd", ...
  std::int64_t slices = 1;
  std::int64_t workspace_bytes = 0;
  double seconds = 0;  // measured on the device; 0: not measured
};

// One launch. A buffer in both lists is updated in place. Arguments are passed in the order reads,
// writes, workspace. Candidate 0 is the memory-optimal one.
struct Kernel {
  std::string name;
  std::string op;
  LayerId layer;
  Phase phase = Phase::forward;
  std::vector<View> reads;
  std::vector<View> writes;
  std::vector<Candidate> candidates;
  std::string signature;  // op, shapes, layouts: kernels with the same one take the same time
};

// A training step lowered to one device, as pure data: no code, no pointers.
struct Program {
  std::string name;
  std::string device;
  std::vector<Buffer> buffers;
  std::vector<Layer> layers;
  std::vector<Kernel> kernels;
  NetworkWide network_wide;  // of the graph

  [[nodiscard]] const Buffer& buffer(BufferId id) const { return buffers[id.index()]; }
  [[nodiscard]] const Kernel& kernel(KernelId id) const { return kernels[id.index()]; }
};

// Identifies buffers, kernels and candidates (not their seconds): a plan runs only the program that it
// was made for.
std::uint64_t fingerprint(const Program& program);

// A line per buffer and kernel, for people and golden tests.
std::string to_text(const Program& program);

// What a kernel needs when nothing else is in memory: the buffers it names, whole, and the workspace.
std::int64_t working_set_bytes(const Program& program, const Kernel& kernel, const Candidate& candidate);

// Bytes that all kernels need at most for their own use under an assignment (candidate by kernel).
std::int64_t largest_workspace_bytes(const Program& program, const std::vector<int>& assignment);

// Share of the network-wide allocation that is unused at any moment: one minus the largest layer's use over
// the whole.
double unused_share(const Program& program, const std::vector<int>& assignment);

// The graph's network-wide allocation with the largest workspace of the assignment on top.
std::int64_t network_wide_bytes(const Program& program, const std::vector<int>& assignment);

}  // namespace vdnn
