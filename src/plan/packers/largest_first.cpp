#include "plan/packers/first_fit.h"
#include "plan/packers/packers.h"

namespace vdnn {
namespace {

void pack(std::span<Block> blocks) {
  first_fit(blocks, block_order(blocks, [](const Block& a, const Block& b) { return a.bytes > b.bytes; }));
}

}  // namespace

const Packer kLargestFirst = {"largest-first", "first fit, large blocks first", SIZE_MAX, pack};

}  // namespace vdnn
