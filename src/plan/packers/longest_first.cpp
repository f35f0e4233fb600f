#include "plan/packers/first_fit.h"
#include "plan/packers/packers.h"

namespace vdnn {
namespace {

void pack(std::span<Block> blocks) {
  first_fit(blocks, block_order(blocks, [](const Block& a, const Block& b) {
              return a.steps.length() > b.steps.length();
            }));
}

}  // namespace

const Packer kLongestFirst = {"longest-first", "first fit, long-lived blocks first", pack};

}  // namespace vdnn
