#pragma once

#include "convseq/kernels/cpu/conv_tile_loops.h"

// The inputs of static convolutions and their gradients; for files compiled once per CpuLevel.
namespace convseq::kernels::CONVSEQ_LEVEL {

// y[c] = x[c] · σ(x[C + c])
template <class T, class Out>
CONVSEQ_INLINE void gate_row(const T* x, int64_t channels, Out* y, bool streamed) {
  Output<1, Out> out(streamed);
  for_vectors<kLockstep>(0, channels, [&](auto vectors, auto width, int64_t c) {
    constexpr int V = decltype(vectors)::kValue, W = decltype(width)::kValue;
    if constexpr (kPrefetches) {
      __builtin_prefetch(x + c + 512);  // the next row, which is on other pages
      __builtin_prefetch(x + channels + c + 512);
    }
    Floats<W> sigma[V];
    for (int v = 0; v < V; ++v) sigma[v] = load<W>(x + channels + c + v * W);
    apply_sigmoid<W>(sigma);
    for (int v = 0; v < V; ++v) {
      const Floats<W> gated[1] = {load<W>(x + c + v * W) * sigma[v]};
      out.template write<W>(y + c + v * W, 0, gated);
    }
  });
}

// The input of a convolution: x itself, or the gated x. `read` loads R rows of W channels, `write`
// stores the gradient of x from theirs; what `read` computed for it is in `Kept`.
template <class T>
struct PlainInput {
  const T* x;
  T* dx;
  int64_t stride;  // from one row of a tile to the next
  bool streamed;

  template <int R>
  struct Outputs {
    explicit Outputs(bool streamed) : dx(streamed) {}
    Output<R, T> dx;
  };
  template <int R, int W>
  struct Kept {};

  template <int R>
  CONVSEQ_INLINE void prefetch_next_at(int64_t at) const {
    prefetch_next<R>(x + at, stride);
  }
  template <int R, int W>
  CONVSEQ_INLINE void read(int64_t at, Floats<W> (&input)[R], Kept<R, W>& /*kept*/) const {
    for (int r = 0; r < R; ++r) input[r] = load<W>(x + at + r * stride);
  }
  template <int R, int W>
  CONVSEQ_INLINE void write(int64_t at, const Floats<W> (&gradient)[R], const Kept<R, W>& /*kept*/,
                            Outputs<R>& out) const {
    if (dx != nullptr) out.dx.template write<W>(dx + at, stride, gradient);
  }
};

template <int R, class T>
struct GateOutputs {
  explicit GateOutputs(bool streamed) : values(streamed), gates(streamed) {}
  Output<R, T> values, gates;
};

template <int R, int W>
struct GateValues {
  Floats<W> value[R], sigma[R];

  template <class T>
  CONVSEQ_INLINE void read(const T* x, int64_t channels, int64_t stride) {
    for (int r = 0; r < R; ++r) {
      value[r] = load<W>(x + r * stride);
      sigma[r] = load<W>(x + r * stride + channels);
    }
    apply_sigmoid<W>(sigma);
  }
};

template <int R, int W, class T>
CONVSEQ_INLINE void gate_gradient(const GateValues<R, W>& kept, int64_t channels, int64_t stride,
                                  const Floats<W> (&gradient)[R], T* dx, GateOutputs<R, T>& out) {
  Floats<W> value_gradient[R], gate_gradient_values[R];
  for (int r = 0; r < R; ++r) {
    const auto sigma = kept.sigma[r];
    value_gradient[r] = gradient[r] * sigma;
    gate_gradient_values[r] = gradient[r] * kept.value[r] * sigma * (1.0F - sigma);
  }
  out.values.template write<W>(dx, stride, value_gradient);
  out.gates.template write<W>(dx + channels, stride, gate_gradient_values);
}

template <class T>
struct GatedInput {
  const T* x;
  T* dx;
  int64_t stride;
  int64_t channels;
  bool streamed;

  template <int R>
  using Outputs = GateOutputs<R, T>;
  template <int R, int W>
  using Kept = GateValues<R, W>;

  template <int R>
  CONVSEQ_INLINE void prefetch_next_at(int64_t at) const {
    prefetch_next<R>(x + at, stride);
    prefetch_next<R>(x + at + channels, stride);
  }
  template <int R, int W>
  CONVSEQ_INLINE void read(int64_t at, Floats<W> (&input)[R], Kept<R, W>& kept) const {
    kept.read(x + at, channels, stride);
    for (int r = 0; r < R; ++r) input[r] = kept.value[r] * kept.sigma[r];
  }
  template <int R, int W>
  CONVSEQ_INLINE void write(int64_t at, const Floats<W> (&gradient)[R], const Kept<R, W>& kept,
                            Outputs<R>& out) const {
    if (dx != nullptr) gate_gradient<R, W>(kept, channels, stride, gradient, dx + at, out);
  }
};

// The members of ConvLoops that need no taps.
void glu_forward(const ConvShape& shape, const ConvForward& arrays, Pieces pieces, Part part);
void glu_backward(const ConvShape& shape, const ConvBackward& arrays, Pieces pieces, Part part);
void gate_rows(ConvGate gate, const float* x, int64_t x_stride, int64_t count, int64_t channels,
               float* to);
void multiply_row(const float* factor, int64_t channels, float* y);

}  // namespace convseq::kernels::CONVSEQ_LEVEL
