#include "device/cuda/call.h"

#include <fmt/format.h>

#include "vdnn/error.h"

namespace vdnn::cuda {

void check(Runtime& runtime, Status status, std::string_view call) {
  if (status == 0) return;
  const std::string text = runtime.error_text(status);
  runtime.clear_error();
  throw DeviceError(fmt::format("{}: {}", call, text));
}

}  // namespace vdnn::cuda
