#include "device/cpu/kernel.h"

namespace vdnn::cpu {

void LazyPrimitive::run(Runtime& runtime, std::initializer_list<Runtime::Argument> arguments,
                        std::byte* scratchpad) {
  if (!made_) made_ = primitive_.make();
  std::vector<Runtime::Argument> all(arguments);
  const Desc desc =
      primitive_.scratchpad_bytes > 0
          ? Desc({primitive_.scratchpad_bytes}, dnnl::memory::data_type::u8, dnnl::memory::format_tag::a)
          : Desc();
  if (primitive_.scratchpad_bytes > 0) all.push_back({DNNL_ARG_SCRATCHPAD, &desc, scratchpad});
  runtime.run(made_, all);
}

}  // namespace vdnn::cpu
