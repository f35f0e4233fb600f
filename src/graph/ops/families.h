#pragma once

#include "graph/op_family.h"

namespace vdnn {

extern const OpFamily kConvolution;
extern const OpFamily kRelu;
extern const OpFamily kMaxPool;
extern const OpFamily kAveragePool;
extern const OpFamily kLrn;
extern const OpFamily kDropout;
extern const OpFamily kFullyConnected;
extern const OpFamily kConcat;
extern const OpFamily kAdd;
extern const OpFamily kBatchNorm;
extern const OpFamily kSoftmaxCrossEntropy;

}  // namespace vdnn
