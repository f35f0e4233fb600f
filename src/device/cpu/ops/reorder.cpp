#include "device/cpu/ops/reorder.h"

#include <fmt/format.h>

namespace vdnn::cpu {
namespace {

class Reorder : public CpuKernel {
 public:
  Reorder(const Desc& from, const Desc& to) : from_(from), to_(to), primitive_(make_reorder(from, to)) {}

  [[nodiscard]] std::vector<Candidate> candidates() const override {
    return {{.algorithm = "reorder", .workspace_bytes = primitive_.scratchpad_bytes()}};
  }

  void run(int, const Call& call) override {
    primitive_.run(call.runtime, {{DNNL_ARG_FROM, &from_, call.bytes(0)}, {DNNL_ARG_TO, &to_, call.bytes(1)}},
                   call.arguments.size() > 2 ? call.bytes(2) : nullptr);
  }

 private:
  Desc from_;
  Desc to_;
  LazyPrimitive primitive_;
};

}  // namespace

void emit_reorder(Lowering& lowering, const TrainingOp& op, const View& from, const Layout& from_layout,
                  const View& to, const Layout& to_layout) {
  lowering.emit(op, {from}, {to},
                fmt::format("reorder {} {}", layout_text(from_layout), layout_text(to_layout)),
                [&] { return std::make_shared<Reorder>(from_layout.desc(), to_layout.desc()); });
}

}  // namespace vdnn::cpu
