#include <fmt/format.h>

#include "device/cpu/ops/ops.h"

namespace vdnn::cpu {
namespace {

// Forward: x -> y[, indices]. Backward: dy[, indices] -> dx.
class Pooling : public CpuKernel {
 public:
  Pooling(bool max, bool forward, const Layout& x, const Layout& y, const PoolingAttributes& attributes)
      : max_(max),
        forward_(forward),
        x_(x.desc()),
        y_(y.desc()),
        pooling_(make_pooling(max, forward, x_, y_, x.shape, y.shape, attributes)),
        saved_({std::max<std::int64_t>(1, pooling_.workspace_bytes)}, dnnl::memory::data_type::u8,
               dnnl::memory::format_tag::a),
        primitive_(pooling_.primitive) {}

  [[nodiscard]] std::vector<Candidate> candidates() const override {
    return {{.algorithm = "pooling", .workspace_bytes = primitive_.scratchpad_bytes()}};
  }

  void run(int, const Call& call) override {
    std::byte* scratchpad = primitive_.scratchpad_bytes() > 0 ? call.arguments.back() : nullptr;
    const Runtime::Argument from{forward_ ? DNNL_ARG_SRC : DNNL_ARG_DIFF_DST, forward_ ? &x_ : &y_,
                                 call.bytes(0)};
    const std::size_t target = !forward_ && max_ ? 2 : 1;
    const Runtime::Argument to{forward_ ? DNNL_ARG_DST : DNNL_ARG_DIFF_SRC, forward_ ? &y_ : &x_,
                               call.bytes(target)};
    if (!max_) return primitive_.run(call.runtime, {from, to}, scratchpad);
    primitive_.run(call.runtime, {from, to, {DNNL_ARG_WORKSPACE, &saved_, call.bytes(forward_ ? 2 : 1)}},
                   scratchpad);
  }

 private:
  bool max_;
  bool forward_;
  Desc x_;
  Desc y_;
  PoolingPrimitive pooling_;
  Desc saved_;
  LazyPrimitive primitive_;
};

}  // namespace

void lower_pooling(Lowering& lowering, const TrainingOp& op) {
  const bool max = op.kind == OpKind::max_pool || op.kind == OpKind::max_pool_backward;
  const bool forward = op.kind == OpKind::max_pool || op.kind == OpKind::average_pool;
  const auto& a = std::get<PoolingAttributes>(op.attributes);
  const TensorId x = forward ? op.inputs[0] : op.outputs[0];
  const TensorId y = forward ? op.outputs[0] : op.inputs[0];
  const Layout x_layout = lowering.layout(x);
  const Layout y_layout = lowering.layout(y);
  std::vector<View> reads = {lowering.view(op.inputs[0], op.layer)};
  std::vector<View> writes = {lowering.view(op.outputs[0], op.layer)};
  if (max) {
    const auto saved =
        make_pooling(true, true, x_layout.desc(), y_layout.desc(), x_layout.shape, y_layout.shape, a);
    auto& list = forward ? writes : reads;
    list.push_back(lowering.opaque(forward ? op.outputs[1] : op.inputs[1], op.layer, saved.workspace_bytes));
  }
  const std::string signature =
      fmt::format("{} {} {} k{}x{} s{}x{} p{}x{}{}", op_name(op.kind), layout_text(x_layout),
                  layout_text(y_layout), a.kernel.height, a.kernel.width, a.stride.height, a.stride.width,
                  a.padding.height, a.padding.width, a.global ? " global" : "");
  lowering.emit(op, std::move(reads), std::move(writes), signature,
                [&] { return std::make_shared<Pooling>(max, forward, x_layout, y_layout, a); });
}

}  // namespace vdnn::cpu
