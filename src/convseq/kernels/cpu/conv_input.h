#pragma once

#include "convseq/kernels/cpu/conv_tile_loops.h"
#include "convseq/kernels/cpu/sigmoid.h"

// The gated linear unit of rows [2C]: C values, then their gates. For files compiled once per
// CpuLevel.
namespace convseq::kernels::CONVSEQ_LEVEL {

// f(width, c, 1 + e^-gate) over the gates of a row. f divides by it, one block of vectors after the
// exponentials of the next block are computed, so that the divider works meanwhile.
template <class T, class F>
CONVSEQ_INLINE void for_denominators(const T* gates, int64_t channels, const F& f) {
  constexpr int64_t kBlock = kLockstep * kLanes;
  const auto divide = [&](int64_t c, const Floats<kLanes>(&denominators)[kLockstep])
                          CONVSEQ_LAMBDA {
                            for (int v = 0; v < kLockstep; ++v)
                              f(Number<kLanes>{}, c + v * kLanes, denominators[v]);
                          };
  Floats<kLanes> last[kLockstep];
  int64_t c = 0;
  for (; c + kBlock <= channels; c += kBlock) {
    // The next row, which is on other pages; an Arm core gains from a whole row ahead.
    const T* ahead = gates + c + (kPrefetches ? 512 : 2 * channels);
    __builtin_prefetch(ahead - channels);
    __builtin_prefetch(ahead);
    Floats<kLanes> next[kLockstep];
    for (int v = 0; v < kLockstep; ++v) next[v] = load<kLanes>(gates + c + v * kLanes);
    in_lockstep<kLanes>(next, [](auto width, const auto& gate) CONVSEQ_LAMBDA {
      return sigmoid_denominator<width.kValue>(gate);
    });
    if (c > 0) divide(c - kBlock, last);
    for (int v = 0; v < kLockstep; ++v) last[v] = next[v];
  }
  if (c > 0) divide(c - kBlock, last);
  for_blocks(c, channels, [&](auto width, int64_t at) CONVSEQ_LAMBDA {
    constexpr int W = decltype(width)::kValue;
    f(width, at, sigmoid_denominator<W>(load<W>(gates + at)));
  });
}

// y[c] = x[c] · σ(x[C + c])
template <class T, class Out>
CONVSEQ_INLINE void gate_row(const T* x, int64_t channels, Out* y, bool streamed) {
  Output<1, Out> out(streamed);
  for_denominators(x + channels, channels,
                   [&](auto width, int64_t c, const auto& denominator) CONVSEQ_LAMBDA {
                     constexpr int W = decltype(width)::kValue;
                     const Floats<W> gated[1] = {load<W>(x + c) / denominator};
                     out.template write<W>(y + c, 0, gated);
                   });
}

// σ of the gates, and the gated values.
template <class T>
CONVSEQ_INLINE void sigmoid_row(const T* x, int64_t channels, float* sigma, float* gated) {
  for_denominators(x + channels, channels,
                   [&](auto width, int64_t c, const auto& denominator) CONVSEQ_LAMBDA {
                     constexpr int W = decltype(width)::kValue;
                     const Floats<W> open = 1.0F / denominator;
                     store<W>(sigma + c, open);
                     store<W>(gated + c, load<W>(x + c) * open);
                   });
}

// Writes the gradient of a row, block by block, from that of its gated values.
template <class T>
class GateGradient {
 public:
  GateGradient(const T* x, int64_t channels, T* dx, bool streamed)
      : x_(x), channels_(channels), dx_(dx), values_(streamed), gates_(streamed) {}

  template <int W>
  CONVSEQ_INLINE void write(int64_t c, Floats<W> gradient, Floats<W> open) {
    const Floats<W> dvalue[1] = {gradient * open};
    const Floats<W> dgate[1] = {dvalue[0] * load<W>(x_ + c) * (1.0F - open)};
    values_.template write<W>(dx_ + c, 0, dvalue);
    gates_.template write<W>(dx_ + channels_ + c, 0, dgate);
  }

 private:
  const T* x_;
  int64_t channels_;
  T* dx_;
  Output<1, T> values_, gates_;
};

// With σ of the gates.
template <class T>
CONVSEQ_INLINE void gate_gradient_row(const T* x, const float* sigma, const float* gradient,
                                      int64_t channels, T* dx, bool streamed) {
  GateGradient<T> out(x, channels, dx, streamed);
  for_blocks(0, channels, [&](auto width, int64_t c) CONVSEQ_LAMBDA {
    constexpr int W = decltype(width)::kValue;
    out.template write<W>(c, load<W>(gradient + c), load<W>(sigma + c));
  });
}

// Without.
template <class T>
CONVSEQ_INLINE void gate_gradient_row(const T* x, const T* gradient, int64_t channels, T* dx,
                                      bool streamed) {
  GateGradient<T> out(x, channels, dx, streamed);
  for_denominators(x + channels, channels,
                   [&](auto width, int64_t c, const auto& denominator) CONVSEQ_LAMBDA {
                     constexpr int W = decltype(width)::kValue;
                     out.template write<W>(c, load<W>(gradient + c), 1.0F / denominator);
                   });
}

// Gated rows, computed shortly before the convolution reads them: few enough for the first-level
// cache where the kernel is short.
template <class T>
class GatedRows {
 public:
  GatedRows(const ConvShape& shape, int tile, const float* zeros)
      : shape_(shape),
        step_(tile * shape.dilation),
        slots_(step_ + reach_of(shape)),
        rows_(shape.glu ? slots_ * shape.channels : 0),
        zeros_(zeros) {}

  int64_t step() const { return step_; }  // outputs of one tile, the most that may be asked for

  // What the outputs [begin, end) of a sequence of `length` rows read. Outputs are asked for in
  // ascending order.
  RingRows window(const T* x, int64_t sequence, int64_t length, int64_t begin, int64_t end) {
    const int64_t channels = shape_.channels;
    const int64_t from = larger<int64_t>(0, begin - shape_.left);
    const int64_t to = larger(from, smaller(length, end + reach_of(shape_) - shape_.left));
    if (sequence != sequence_ || from > to_) to_ = from;
    sequence_ = sequence;
    for (; to_ < to; ++to_) {
      gate_row(x + to_ * 2 * channels, channels, rows_.get() + to_ % slots_ * channels,
               /*streamed=*/false);
    }
    return {rows_.get(), slots_, from, to, channels, zeros_};
  }

 private:
  const ConvShape& shape_;
  int64_t step_, slots_;
  Buffer<float> rows_;
  const float* zeros_;
  int64_t sequence_ = -1, to_ = 0;  // the rows before to_ of this sequence are in their slots
};

// The sigmoids, gated values and their gradients of a few rows at a time.
struct GateScratch {
  explicit GateScratch(const ConvShape& shape)
      : rows(shape.glu ? kTile * shape.dilation : 0),
        sigma(rows * shape.channels),
        gated(rows * shape.channels),
        gradient(rows * shape.channels) {}

  int64_t rows;
  Buffer<float> sigma, gated, gradient;
};

// The members of ConvLoops that need no taps.
void glu_forward(const ConvShape& shape, const ConvForward& arrays, Pieces pieces, Part part);
void glu_backward(const ConvShape& shape, const ConvBackward& arrays, Pieces pieces, Part part);
void gate_rows(ConvGate gate, const float* x, int64_t x_stride, int64_t count, int64_t channels,
               float* to);
void multiply_row(const float* factor, int64_t channels, float* y);

}  // namespace convseq::kernels::CONVSEQ_LEVEL
