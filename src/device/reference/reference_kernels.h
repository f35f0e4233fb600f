#pragma once

#include <span>

#include "vdnn/device.h"
#include "vdnn/training_graph.h"

namespace vdnn::reference {

// A dense row-major tensor in double precision. Labels and pool indices are doubles too.
struct Tensor {
  Shape shape;
  double* data = nullptr;
};

// Runs one op of a training graph by plain loops. Inputs and outputs come in the op's order; where the
// graph lets an op work in place, an output's data is its input's.
void run(const TrainingOp& op, std::span<const Tensor> inputs, std::span<const Tensor> outputs,
         const StepScalars& scalars);

}  // namespace vdnn::reference
