#include "plan/packers/first_fit.h"
#include "plan/packers/packers.h"

namespace vdnn {
namespace {

void pack(std::span<Block> blocks) {
  first_fit(blocks, block_order(blocks, [](const Block& a, const Block& b) {
              return static_cast<double>(a.bytes) * static_cast<double>(a.steps.length()) >
                     static_cast<double>(b.bytes) * static_cast<double>(b.steps.length());
            }));
}

}  // namespace

const Packer kAreaFirst = {"area-first", "first fit, blocks with the most bytes x steps first", pack};

}  // namespace vdnn
