#include "device/cpu/index_map.h"

#include "vdnn/bytes.h"

namespace vdnn::cpu {
namespace {

bool is_row_major(const Blocking& format) {
  std::int64_t stride = 1;
  for (std::size_t axis = format.dims.size(); axis > 0; --axis) {
    if (format.strides[axis - 1] != stride) return false;
    stride *= format.dims[axis - 1];
  }
  return format.blocks.empty();
}

}  // namespace

IndexMap::IndexMap(const Blocking& format) : dims_(format.dims) {
  if (is_row_major(format)) return;
  offsets_.resize(dims_.size());
  padding_.resize(dims_.size());
  for (std::size_t axis = 0; axis < dims_.size(); ++axis) {
    std::int64_t blocked = 1;
    for (const auto& [of, size] : format.blocks) blocked *= of == axis ? size : 1;
    for (std::int64_t position = 0; position < round_up(dims_[axis], blocked); ++position) {
      std::int64_t left = position;
      std::int64_t offset = 0;
      std::int64_t stride = 1;
      for (auto block = format.blocks.rbegin(); block != format.blocks.rend(); ++block) {
        if (block->first == axis) {
          offset += left % block->second * stride;
          left /= block->second;
        }
        stride *= block->second;
      }
      auto& list = position < dims_[axis] ? offsets_[axis] : padding_[axis];
      list.push_back(offset + left * format.strides[axis]);
    }
  }
}

}  // namespace vdnn::cpu
