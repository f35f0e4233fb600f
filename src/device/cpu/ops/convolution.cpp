#include <fmt/format.h>

#include <algorithm>

#include "device/cpu/ops/elementwise.h"
#include "device/cpu/ops/ops.h"
#include "vdnn/bytes.h"

namespace vdnn::cpu {
namespace {

// Slicing pays where the whole batch needs a large workspace.
constexpr std::int64_t kSlicedWorkspaceBytes = 16 * kMiB;
constexpr std::int64_t kSliceImages[] = {8, 2};

std::int64_t desc_bytes(const Desc& desc) {
  return static_cast<std::int64_t>(desc.get_size());
}

// One way to run a convolution: an algorithm on slices of the batch, with the reorders that it needs
// between the formats of the buffers and those of the primitive.
class ConvolutionWay {
 public:
  ConvolutionWay(Direction direction, std::string algorithm, const ConvolutionProblem& slice,
                 std::int64_t slices, const ConvolutionFormats& stored, ConvolutionPrimitive primitive)
      : direction_(direction),
        algorithm_(std::move(algorithm)),
        slices_(slices),
        bias_(slice.attributes.bias),
        bias_desc_(plain_desc({slice.attributes.channels})),
        stored_(stored),
        used_(primitive.formats),
        primitive_(std::move(primitive.primitive)) {
    const bool data_in = direction != Direction::backward_data;
    x_ = converter(stored.x, used_.x, data_in);
    weight_ = converter(stored.weight, used_.weight, direction != Direction::backward_weights);
    y_ = converter(stored.y, used_.y, direction != Direction::forward);
    std::int64_t at = round_up(primitive_.scratchpad_bytes(), 64);
    for (auto* conversion : {&x_, &weight_, &y_}) at = conversion->reserve(at);
    if (direction == Direction::backward_weights && slices > 1) {
      sum_offset_ = at;
      at += round_up(desc_bytes(stored.weight), 64) + round_up(desc_bytes(bias_desc_), 64);
    }
    workspace_bytes_ = at;
  }

  [[nodiscard]] Candidate candidate() const {
    return {.algorithm = algorithm_, .slices = slices_, .workspace_bytes = workspace_bytes_};
  }

  // Arguments as in the training graph: (x, weight[, bias]) -> y, (weight, dy) -> dx, (x, dy) -> dweight[,
  // dbias].
  void run(const Call& call) {
    std::byte* workspace = workspace_bytes_ > 0 ? call.arguments.back() : nullptr;
    if (direction_ == Direction::backward_weights) return run_weights(call, workspace);
    const bool forward = direction_ == Direction::forward;
    std::byte* x = forward ? call.bytes(0) : call.bytes(2);
    std::byte* y = forward ? call.bytes(bias_ ? 3 : 2) : call.bytes(1);
    const Runtime::Argument weight{DNNL_ARG_WEIGHTS, &used_.weight,
                                   weight_.enter(call.runtime, call.bytes(forward ? 1 : 0), workspace)};
    for (std::int64_t slice = 0; slice < slices_; ++slice) {
      std::byte* x_slice = x + slice * desc_bytes(stored_.x);
      std::byte* y_slice = y + slice * desc_bytes(stored_.y);
      if (forward) {
        std::byte* x_used = x_.enter(call.runtime, x_slice, workspace);
        const Runtime::Argument source{DNNL_ARG_SRC, &used_.x, x_used};
        const Runtime::Argument target{DNNL_ARG_DST, &used_.y, y_.address(y_slice, workspace)};
        if (bias_) {
          primitive_.run(call.runtime, {source, weight, {DNNL_ARG_BIAS, &bias_desc_, call.bytes(2)}, target},
                         workspace);
        } else {
          primitive_.run(call.runtime, {source, weight, target}, workspace);
        }
        y_.leave(call.runtime, y_slice, workspace);
      } else {
        std::byte* y_used = y_.enter(call.runtime, y_slice, workspace);
        primitive_.run(call.runtime,
                       {{DNNL_ARG_DIFF_DST, &used_.y, y_used},
                        weight,
                        {DNNL_ARG_DIFF_SRC, &used_.x, x_.address(x_slice, workspace)}},
                       workspace);
        x_.leave(call.runtime, x_slice, workspace);
      }
    }
  }

 private:
  // Between a buffer's format and the primitive's.
  struct Conversion {
    std::optional<LazyPrimitive> reorder;
    Desc from;
    Desc to;
    std::int64_t bytes = 0;   // of the converted copy
    std::int64_t offset = 0;  // of the copy in the workspace; the reorder's scratchpad lies behind it
    std::int64_t scratch_offset = 0;

    std::int64_t reserve(std::int64_t at) {
      if (!reorder) return at;
      offset = at;
      scratch_offset = offset + round_up(bytes, 64);
      return scratch_offset + round_up(reorder->scratchpad_bytes(), 64);
    }
    [[nodiscard]] std::byte* address(std::byte* buffer, std::byte* workspace) const {
      return reorder ? workspace + offset : buffer;
    }
    std::byte* enter(Runtime& runtime, std::byte* buffer, std::byte* workspace) {
      if (reorder) convert(runtime, buffer, workspace + offset, workspace);
      return address(buffer, workspace);
    }
    void leave(Runtime& runtime, std::byte* buffer, std::byte* workspace) {
      if (reorder) convert(runtime, workspace + offset, buffer, workspace);
    }
    void convert(Runtime& runtime, std::byte* source, std::byte* target, std::byte* workspace) {
      reorder->run(runtime, {{DNNL_ARG_FROM, &from, source}, {DNNL_ARG_TO, &to, target}},
                   workspace + scratch_offset);
    }
  };

  static Conversion converter(const Desc& stored, const Desc& used, bool enters) {
    if (stored == used) return {};
    Conversion conversion{
        .from = enters ? stored : used, .to = enters ? used : stored, .bytes = desc_bytes(used)};
    conversion.reorder.emplace(make_reorder(conversion.from, conversion.to));
    return conversion;
  }

  // The first slice writes the gradient, the others are added in order.
  void run_weights(const Call& call, std::byte* workspace) {
    std::byte* sum = workspace + sum_offset_;
    std::byte* bias_sum = sum + round_up(desc_bytes(stored_.weight), 64);
    for (std::int64_t slice = 0; slice < slices_; ++slice) {
      std::byte* weight = slice == 0 ? call.bytes(2) : sum;
      std::byte* bias = !bias_ ? nullptr : slice == 0 ? call.bytes(3) : bias_sum;
      std::byte* x = x_.enter(call.runtime, call.bytes(0) + slice * desc_bytes(stored_.x), workspace);
      std::byte* y = y_.enter(call.runtime, call.bytes(1) + slice * desc_bytes(stored_.y), workspace);
      const Runtime::Argument source{DNNL_ARG_SRC, &used_.x, x};
      const Runtime::Argument gradient{DNNL_ARG_DIFF_DST, &used_.y, y};
      const Runtime::Argument target{DNNL_ARG_DIFF_WEIGHTS, &used_.weight,
                                     weight_.address(weight, workspace)};
      if (bias_) {
        primitive_.run(call.runtime, {source, gradient, target, {DNNL_ARG_DIFF_BIAS, &bias_desc_, bias}},
                       workspace);
      } else {
        primitive_.run(call.runtime, {source, gradient, target}, workspace);
      }
      weight_.leave(call.runtime, weight, workspace);
      if (slice > 0) add_to(call.floats(2), sum, desc_bytes(stored_.weight) / 4);
      if (slice > 0 && bias_) add_to(call.floats(3), bias_sum, desc_bytes(bias_desc_) / 4);
    }
  }

  static void add_to(float* total, const std::byte* part, std::int64_t count) {
    const auto* values = reinterpret_cast<const float*>(part);
    parallel_ranges(count, [=](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) total[i] += values[i];
    });
  }

  Direction direction_;
  std::string algorithm_;
  std::int64_t slices_;
  bool bias_;
  Desc bias_desc_;
  ConvolutionFormats stored_;  // of one slice
  ConvolutionFormats used_;
  LazyPrimitive primitive_;
  Conversion x_;
  Conversion weight_;
  Conversion y_;
  std::int64_t sum_offset_ = 0;
  std::int64_t workspace_bytes_ = 0;
};

class Convolution : public CpuKernel {
 public:
  Convolution(Direction direction, const ConvolutionProblem& problem, const Desc& weight, std::int64_t block)
      : direction_(direction), weight_(weight), block_(block) {
    for (const bool winograd : {false, true}) add_ways(winograd, problem);
  }

  [[nodiscard]] std::vector<Candidate> candidates() const override {
    std::vector<Candidate> all;
    for (const auto& way : ways_) all.push_back(way.candidate());
    return all;
  }

  void run(int candidate, const Call& call) override { ways_[static_cast<std::size_t>(candidate)].run(call); }

 private:
  void add_ways(bool winograd, const ConvolutionProblem& problem) {
    if (!add(winograd, problem, 1)) return;
    for (const auto images : kSliceImages) {
      const std::int64_t batch = problem.x[0];
      const std::int64_t workspace_bytes = ways_.back().candidate().workspace_bytes;
      if (workspace_bytes < kSlicedWorkspaceBytes) return;
      if (batch <= images || batch % images != 0) continue;
      ConvolutionProblem slice = problem;
      slice.x = {images, problem.x[1], problem.x[2], problem.x[3]};
      slice.y = {images, problem.y[1], problem.y[2], problem.y[3]};
      if (!add(winograd, slice, batch / images)) return;
      // The sums of weight gradients can need more than slicing saves.
      if (ways_.back().candidate().workspace_bytes >= workspace_bytes) ways_.pop_back();
    }
  }

  // In the formats of the buffers where oneDNN has fast code for them, else in the formats that it likes.
  bool add(bool winograd, const ConvolutionProblem& slice, std::int64_t slices) {
    const Shape weight_shape = convolution_weight_shape(slice);
    const ConvolutionFormats stored{natural_layout(slice.x, block_).desc(), weight_,
                                    natural_layout(slice.y, block_).desc()};
    auto made = make_convolution(direction_, winograd, slice, {stored.x, any_desc(weight_shape), stored.y});
    if (!made || made->primitive.naive) {
      auto liked = make_convolution(direction_, winograd, slice,
                                    {any_desc(slice.x), any_desc(weight_shape), any_desc(slice.y)});
      if (liked && (!made || !liked->primitive.naive)) made = std::move(liked);
    }
    if (!made || (winograd && made->primitive.naive)) return false;
    ways_.emplace_back(direction_, winograd ? "winograd" : "direct", slice, slices, stored, std::move(*made));
    return true;
  }

  Direction direction_;
  Desc weight_;
  std::int64_t block_;
  std::vector<ConvolutionWay> ways_;
};

// What the forward direct algorithm likes, so that the memory-optimal forward pass needs no reorder.
Desc weight_format(const ConvolutionProblem& problem, std::int64_t block) {
  const Shape shape = convolution_weight_shape(problem);
  const auto made = make_convolution(
      Direction::forward, false, problem,
      {natural_layout(problem.x, block).desc(), any_desc(shape), natural_layout(problem.y, block).desc()});
  return made ? made->formats.weight : plain_desc(shape);
}

Direction direction_of(OpKind kind) {
  if (kind == OpKind::convolution_backward_data) return Direction::backward_data;
  return kind == OpKind::convolution ? Direction::forward : Direction::backward_weights;
}

}  // namespace

void lower_convolution(Lowering& lowering, const TrainingOp& op) {
  const Direction direction = direction_of(op.kind);
  const auto& a = std::get<ConvolutionAttributes>(op.attributes);
  const TensorId x = direction == Direction::backward_data ? op.outputs[0] : op.inputs[0];
  const TensorId y = direction == Direction::forward ? op.outputs[0] : op.inputs[1];
  const TensorId weight = direction == Direction::forward         ? op.inputs[1]
                          : direction == Direction::backward_data ? op.inputs[0]
                                                                  : op.outputs[0];
  const ConvolutionProblem problem{lowering.shape(x), lowering.shape(y), a};
  if (direction != Direction::backward_data)
    lowering.choose_format(weight, weight_format(problem, lowering.block()));
  std::vector<View> reads;
  std::vector<View> writes;
  for (const auto id : op.inputs) reads.push_back(lowering.view(id, op.layer));
  for (const auto id : op.outputs) writes.push_back(lowering.view(id, op.layer));
  const std::string signature =
      fmt::format("{} {} {} k{}x{} s{}x{} p{}x{} d{}x{} g{}{}", op_name(op.kind),
                  layout_text(lowering.layout(x)), layout_text(lowering.layout(y)), a.kernel.height,
                  a.kernel.width, a.stride.height, a.stride.width, a.padding.height, a.padding.width,
                  a.dilation.height, a.dilation.width, a.groups, a.bias ? " bias" : "");
  const Desc format = lowering.format(weight);
  lowering.emit(op, std::move(reads), std::move(writes), signature,
                [&] { return std::make_shared<Convolution>(direction, problem, format, lowering.block()); });
}

}  // namespace vdnn::cpu
