#include "device/cuda/toolkit/api.h"

namespace vdnn::cuda {

const Api& api() {
  static const Api kLoaded = load_api();
  return kLoaded;
}

}  // namespace vdnn::cuda
