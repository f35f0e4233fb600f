#include "vdnn/version.h"

namespace vdnn {

std::string_view version() {
  return VDNN_VERSION;
}

}  // namespace vdnn
