#pragma once

#include "device/cpu/lowering.h"

namespace vdnn::cpu {

void emit_reorder(Lowering& lowering, const TrainingOp& op, const View& from, const Layout& from_layout,
                  const View& to, const Layout& to_layout);

}  // namespace vdnn::cpu
