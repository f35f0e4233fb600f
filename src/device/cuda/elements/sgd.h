#pragma once

#include <cstdint>

#include "device/cuda/elements/host_device.h"

namespace vdnn::cuda {

// One weight's step, in place. Without momentum state the step is the decayed gradient itself.
template <class T>
struct SgdUpdate {
  const T* gradient = nullptr;
  T* weight = nullptr;
  T* momentum = nullptr;  // null: no state
  T rate = 0;
  T keep = 0;  // share of the momentum that stays
  T decay = 0;

  VDNN_HOST_DEVICE void operator()(std::int64_t i) const {
    T step = gradient[i] + decay * weight[i];
    if (momentum != nullptr) momentum[i] = step = keep * momentum[i] + step;
    weight[i] -= rate * step;
  }
};

}  // namespace vdnn::cuda
