#include "device/reference/kernels.h"

namespace vdnn::reference {

// staged images, staged labels -> images, labels
void load_batch(const Call& call) {
  for (std::size_t i = 0; i < call.outputs.size(); ++i) {
    std::copy_n(call.input(i), call.outputs[i].shape.elements(), call.output(i));
  }
}

}  // namespace vdnn::reference
