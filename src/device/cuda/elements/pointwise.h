#pragma once

#include <cstdint>

#include "device/cuda/elements/host_device.h"

namespace vdnn::cuda {

// Maps of values at the same place, whatever the layout. The result may overwrite any operand.

// NaN passes through: a stale input must not hide behind the activation.
struct Relu {
  template <class T>
  VDNN_HOST_DEVICE T operator()(T x) const {
    return x <= 0 ? T{0} : x;
  }
};

struct ReluBackward {
  template <class T>
  VDNN_HOST_DEVICE T operator()(T dy, T y) const {
    return y <= 0 ? T{0} : dy + T{0} * y;
  }
};

struct Add {
  template <class T>
  VDNN_HOST_DEVICE T operator()(T a, T b) const {
    return a + b;
  }
};

// Values that are loaded and stored as one.
template <class T, int Width>
struct alignas(sizeof(T) * Width) Pack {
  T values[Width];
};

template <int Width, class T>
VDNN_HOST_DEVICE inline Pack<T, Width> load_pack(const T* values, std::int64_t pack) {
  return reinterpret_cast<const Pack<T, Width>*>(values)[pack];
}

template <int Width, class T>
VDNN_HOST_DEVICE inline void store_pack(T* values, std::int64_t pack, const Pack<T, Width>& result) {
  reinterpret_cast<Pack<T, Width>*>(values)[pack] = result;
}

// Packs that cover `count` values; the last may be cut off.
template <int Width>
constexpr std::int64_t packs(std::int64_t count) {
  return (count + Width - 1) / Width;
}

// y = op(x) for one pack of [count] values. Pointers are aligned to packs.
template <class T, int Width, class Op>
struct Unary {
  const T* x = nullptr;
  T* y = nullptr;
  std::int64_t count = 0;

  VDNN_HOST_DEVICE void operator()(std::int64_t pack) const {
    if ((pack + 1) * Width > count) {
      for (std::int64_t i = pack * Width; i < count; ++i) y[i] = Op()(x[i]);
      return;
    }
    const auto in = load_pack<Width>(x, pack);
    Pack<T, Width> out;
    for (int i = 0; i < Width; ++i) out.values[i] = Op()(in.values[i]);
    store_pack<Width>(y, pack, out);
  }
};

// y = op(a, b) for one pack of [count] values. Pointers are aligned to packs.
template <class T, int Width, class Op>
struct Binary {
  const T* a = nullptr;
  const T* b = nullptr;
  T* y = nullptr;
  std::int64_t count = 0;

  VDNN_HOST_DEVICE void operator()(std::int64_t pack) const {
    if ((pack + 1) * Width > count) {
      for (std::int64_t i = pack * Width; i < count; ++i) y[i] = Op()(a[i], b[i]);
      return;
    }
    const auto left = load_pack<Width>(a, pack);
    const auto right = load_pack<Width>(b, pack);
    Pack<T, Width> out;
    for (int i = 0; i < Width; ++i) out.values[i] = Op()(left.values[i], right.values[i]);
    store_pack<Width>(y, pack, out);
  }
};

}  // namespace vdnn::cuda
