#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "vdnn/interval.h"

namespace vdnn {

// Bytes that need one address for an interval of steps.
struct Block {
  Interval steps;
  std::int64_t bytes = 0;
  std::int64_t alignment_bytes = 64;
  std::int64_t offset_bytes = 0;  // the result
};

// A packer is one such value in a file of its own in packers/, listed in packer_registry.cpp. It sets
// every offset, so that blocks which overlap in time do not in space (P1), aligned (P9), and the same
// for the same input (P7).
struct Packer {
  std::string_view name;
  std::string_view summary;
  std::size_t most_blocks;  // asked for more of them, it is no use
  void (*pack)(std::span<Block> blocks);
};

std::span<const Packer* const> registered_packers();

// Highest end of any block.
std::int64_t extent_bytes(std::span<const Block> blocks);

// The most bytes that are live at once: no packing can be lower.
std::int64_t live_peak_bytes(std::span<const Block> blocks);

// What the first of the registered packers finds, which is the quickest.
void pack_quickly(std::span<Block> blocks);

// The lowest of what the registered packers find, the first of them on a tie; or the first that comes within
// 1/64 of the live peak.
void pack_lowest(std::span<Block> blocks);

}  // namespace vdnn
