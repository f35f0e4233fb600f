#include "device/cuda/toolkit/api.h"

namespace vdnn::cuda {

const Api& api() {
  static const Api loaded = load_api();
  return loaded;
}

}  // namespace vdnn::cuda
