#include "device/cuda/toolkit/elements.h"

#include "device/cuda/elements/pointwise.h"
#include "device/cuda/toolkit/launch.cuh"

namespace vdnn::cuda {
namespace {

constexpr int kWide = 4;  // floats that are loaded at once

// Slices of weights begin anywhere.
template <class... Pointers>
bool all_wide(Pointers... pointers) {
  return ((reinterpret_cast<std::uintptr_t>(pointers) % sizeof(Pack<float, kWide>) == 0) && ...);
}

template <class Op>
void unary(const char* name, const float* x, float* y, std::int64_t count, cudaStream_t stream) {
  if (!all_wide(x, y)) return launch_elements(name, Unary<float, 1, Op>{x, y, count}, count, stream);
  launch_elements(name, Unary<float, kWide, Op>{x, y, count}, packs<kWide>(count), stream);
}

template <class Op>
void binary(const char* name, const float* a, const float* b, float* y, std::int64_t count,
            cudaStream_t stream) {
  if (!all_wide(a, b, y)) return launch_elements(name, Binary<float, 1, Op>{a, b, y, count}, count, stream);
  launch_elements(name, Binary<float, kWide, Op>{a, b, y, count}, packs<kWide>(count), stream);
}

}  // namespace

void relu(const float* x, float* y, std::int64_t count, cudaStream_t stream) {
  unary<Relu>("relu", x, y, count, stream);
}

void relu_backward(const float* dy, const float* y, float* dx, std::int64_t count, cudaStream_t stream) {
  binary<ReluBackward>("relu_backward", dy, y, dx, count, stream);
}

void add(const float* a, const float* b, float* sum, std::int64_t count, cudaStream_t stream) {
  binary<Add>("add", a, b, sum, count, stream);
}

void sgd_update(const SgdUpdate<float>& update, std::int64_t count, cudaStream_t stream) {
  launch_elements("sgd_update", update, count, stream);
}

void dropout(const Dropout<float>& dropout, cudaStream_t stream) {
  launch_elements("dropout", dropout, dropout.blocks(), stream);
}

template <class Position>
void max_pool(const MaxPool<float, Position>& pool, cudaStream_t stream) {
  launch_elements("max_pool", pool, pool.windows.y.values(), stream);
}
template void max_pool(const MaxPool<float, std::uint8_t>& pool, cudaStream_t stream);
template void max_pool(const MaxPool<float, std::int32_t>& pool, cudaStream_t stream);

template <class Position>
void max_pool_backward(const MaxPoolBackward<float, Position>& pool, cudaStream_t stream) {
  launch_elements("max_pool_backward", pool, pool.windows.x.values(), stream);
}
template void max_pool_backward(const MaxPoolBackward<float, std::uint8_t>& pool, cudaStream_t stream);
template void max_pool_backward(const MaxPoolBackward<float, std::int32_t>& pool, cudaStream_t stream);

void average_pool(const AveragePool<float>& pool, cudaStream_t stream) {
  launch_elements("average_pool", pool, pool.windows.y.values(), stream);
}

void average_pool_backward(const AveragePoolBackward<float>& pool, cudaStream_t stream) {
  launch_elements("average_pool_backward", pool, pool.windows.x.values(), stream);
}

void lrn(const Lrn<float>& lrn, cudaStream_t stream) {
  launch_elements("lrn", lrn, lrn.scales.layout.values(), stream);
}

void lrn_backward(const LrnBackward<float>& lrn, cudaStream_t stream) {
  launch_elements("lrn_backward", lrn, lrn.scales.layout.values(), stream);
}

void copy_channels(const ChannelCopy<float>& copy, cudaStream_t stream) {
  if (!copy.is_plain()) return launch_elements("copy_channels", copy, copy.values(), stream);
  check(cudaMemcpyAsync(copy.to, copy.from, static_cast<std::size_t>(copy.values()) * sizeof(float),
                        cudaMemcpyDeviceToDevice, stream),
        "cudaMemcpyAsync");
}

void softmax_cross_entropy_backward(const SoftmaxCrossEntropyBackward<float>& backward, std::int64_t batch,
                                    cudaStream_t stream) {
  launch_elements("softmax_cross_entropy_backward", backward, batch * backward.classes, stream);
}

}  // namespace vdnn::cuda
