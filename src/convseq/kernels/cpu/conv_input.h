#pragma once

#include "convseq/kernels/cpu/conv_tile_loops.h"

// The inputs of static convolutions and their gradients; for files compiled once per CpuLevel.
namespace convseq::kernels::CONVSEQ_LEVEL {

template <class T, class Out>
CONVSEQ_INLINE void gate_row(const T* x, int64_t channels, Out* y, bool whole_lines) {
  Output<1, Out> out(whole_lines);
  for_blocks(0, channels, [&](auto width, int64_t c) {
    constexpr int W = decltype(width)::kValue;
    __builtin_prefetch(x + c + 512);  // the next row, which is on other pages
    __builtin_prefetch(x + channels + c + 512);
    const Floats<W> gated[1] = {load<W>(x + c) * sigmoid<W>(load<W>(x + channels + c))};
    out.template write<W>(y + c, 0, gated);
  });
}

// The input of a convolution: x itself, or the gated x. `read` loads R rows of W channels, `write`
// stores the gradient of x from theirs.
template <class T>
struct PlainInput {
  const T* x;
  T* dx;
  int64_t stride;  // from one row of a tile to the next
  bool whole_lines;

  template <int R>
  struct Outputs {
    explicit Outputs(bool whole_lines) : dx(whole_lines) {}
    Output<R, T> dx;
  };

  template <int R>
  CONVSEQ_INLINE void prefetch_next_at(int64_t at) const {
    prefetch_next<R>(x + at, stride);
  }
  template <int R, int W>
  CONVSEQ_INLINE void read(int64_t at, Floats<W> (&input)[R]) const {
    for (int r = 0; r < R; ++r) input[r] = load<W>(x + at + r * stride);
  }
  template <int R, int W>
  CONVSEQ_INLINE void write(int64_t at, const Floats<W> (&gradient)[R], Outputs<R>& out) const {
    if (dx != nullptr) out.dx.template write<W>(dx + at, stride, gradient);
  }
};

template <int R, class T>
struct GateOutputs {
  explicit GateOutputs(bool whole_lines) : values(whole_lines), gates(whole_lines) {}
  Output<R, T> values, gates;
};

template <int R, int W, class T>
CONVSEQ_INLINE void gate_gradient(const T* x, int64_t channels, int64_t stride,
                                  const Floats<W> (&gradient)[R], T* dx, GateOutputs<R, T>& out) {
  Floats<W> value_gradient[R], gate_gradient_values[R];
  for (int r = 0; r < R; ++r) {
    const auto value = load<W>(x + r * stride),
               sigma = sigmoid<W>(load<W>(x + r * stride + channels));
    value_gradient[r] = gradient[r] * sigma;
    gate_gradient_values[r] = gradient[r] * value * sigma * (1.0F - sigma);
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
  bool whole_lines;

  template <int R>
  using Outputs = GateOutputs<R, T>;

  template <int R>
  CONVSEQ_INLINE void prefetch_next_at(int64_t at) const {
    prefetch_next<R>(x + at, stride);
    prefetch_next<R>(x + at + channels, stride);
  }
  template <int R, int W>
  CONVSEQ_INLINE void read(int64_t at, Floats<W> (&input)[R]) const {
    for (int r = 0; r < R; ++r) {
      const T* row = x + at + r * stride;
      input[r] = load<W>(row) * sigmoid<W>(load<W>(row + channels));
    }
  }
  template <int R, int W>
  CONVSEQ_INLINE void write(int64_t at, const Floats<W> (&gradient)[R], Outputs<R>& out) const {
    if (dx != nullptr) gate_gradient<R, W>(x + at, channels, stride, gradient, dx + at, out);
  }
};

}  // namespace convseq::kernels::CONVSEQ_LEVEL
