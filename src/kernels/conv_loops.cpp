#include "kernels/conv_rows.h"

// Static taps, and the gate. The unit of work is a tile: kTile outputs that stand `dilation` apart,
// so that they read k + kTile − 1 rows between them, times one vector of channels.
namespace convseq::kernels::CONVSEQ_LEVEL {
namespace {

constexpr int kTapBlock = kLanes == 8 ? 4 : 8;  // taps in registers, of which AVX2 has but 16

// f(size, t) for tiles of `size` steps t, t + dilation, ...: together all of [begin, end), nearby
// steps soon after one another.
template <class F>
CONVSEQ_INLINE void for_tiles(int64_t begin, int64_t end, int64_t dilation, const F& f) {
  for (int64_t base = begin; base < end; base += kTile * dilation) {
    for (int64_t first = base; first < smaller(base + dilation, end); ++first) {
      if (first + (kTile - 1) * dilation < end) {
        f(Number<kTile>{}, first);
      } else {
        for (int64_t t = first; t < end; t += dilation) f(Number<1>{}, t);
      }
    }
  }
}

// f(number of taps, first tap) for blocks that make up all k; the compiler unrolls each.
template <class F>
CONVSEQ_INLINE void for_tap_blocks(int64_t kernel, const F& f) {
  int64_t j = 0;
  for (; j + kTapBlock <= kernel; j += kTapBlock) f(Number<kTapBlock>{}, j);
  switch (kernel - j) {
    case 1:
      return f(Number<1>{}, j);
    case 2:
      return f(Number<2>{}, j);
    case 3:
      return f(Number<3>{}, j);
    case 4:
      return f(Number<4>{}, j);
    case 5:
      return f(Number<5>{}, j);
    case 6:
      return f(Number<6>{}, j);
    case 7:
      return f(Number<7>{}, j);
    default:
      return;
  }
}

// Only whole tiles of whole vectors are worth many variants; the rest goes tap by tap.
template <int R, int W, class F>
CONVSEQ_INLINE void for_taps(int64_t kernel, const F& f) {
  if constexpr (R == kTile && W == kLanes) {
    for_tap_blocks(kernel, f);
  } else {
    for (int64_t j = 0; j < kernel; ++j) f(Number<1>{}, j);
  }
}

// f(j, r) for the taps j and outputs r = q − j that read row q of a tile's rows.
template <int R, int J, int Q, class F>
CONVSEQ_INLINE void for_readers(const F& f) {
  unroll<R>([&](auto r) CONVSEQ_LAMBDA {
    constexpr int j = Q - decltype(r)::kValue;
    if constexpr (j >= 0 && j < J) f(Number<j>{}, r);
  });
}

// GCC 12 turns `= {}` into `rep stos`, and the sums then wait for memory.
template <int R, class Vector>
CONVSEQ_INLINE void set_zero(Vector (&sum)[R]) {
  for (int r = 0; r < R; ++r) sum[r] = Vector{};
}

// sum[r] += Σ_j taps[j] · rows[r + j], J taps.
template <int R, int J, int W, class In>
CONVSEQ_INLINE void add_taps(const In* const* rows, int64_t channel, const float* taps,
                             Floats<W> (&sum)[R]) {
  unroll<R + J - 1>([&](auto q) CONVSEQ_LAMBDA {
    const auto x = load<W>(rows[q.kValue] + channel);
    for_readers<R, J, decltype(q)::kValue>(
        [&](auto j, auto r) CONVSEQ_LAMBDA { sum[r.kValue] += load<W>(taps + j.kValue * W) * x; });
  });
}

// The same, and dtaps[j] += Σ_r input[r] · rows[r + j].
template <int R, int J, int W, class In>
CONVSEQ_INLINE void add_both(const In* const* rows, int64_t channel, const float* taps,
                             const Floats<W> (&input)[R], Floats<W> (&sum)[R], float* dtaps) {
  Floats<W> d[J];
  unroll<J>([&](auto j) CONVSEQ_LAMBDA { d[j.kValue] = load<W>(dtaps + j.kValue * W); });
  unroll<R + J - 1>([&](auto q) CONVSEQ_LAMBDA {
    const auto dy = load<W>(rows[q.kValue] + channel);
    for_readers<R, J, decltype(q)::kValue>([&](auto j, auto r) CONVSEQ_LAMBDA {
      sum[r.kValue] += load<W>(taps + j.kValue * W) * dy;
      d[j.kValue] += input[r.kValue] * dy;
    });
  });
  unroll<J>([&](auto j) CONVSEQ_LAMBDA { store<W>(dtaps + j.kValue * W, d[j.kValue]); });
}

void spread_taps(const ConvShape& shape, const float* taps, bool reversed, float* spread) {
  const int64_t k = shape.kernel, group = shape.channels / shape.heads;
  for_blocks(0, shape.channels, [&](auto width, int64_t channel) {
    constexpr int W = decltype(width)::kValue;
    for (int64_t j = 0; j < k; ++j) {
      for (int lane = 0; lane < W; ++lane) {
        const float* head = taps + (channel + lane) / group * k;
        spread[channel * k + j * W + lane] = head[reversed ? k - 1 - j : j];
      }
    }
  });
}

// Spread and reversed sums [C,k] back to [H,k].
void gather_taps(const ConvShape& shape, const float* spread, float* taps) {
  const int64_t k = shape.kernel, group = shape.channels / shape.heads;
  __builtin_memset(taps, 0, static_cast<size_t>(shape.heads * k) * sizeof(float));
  for_blocks(0, shape.channels, [&](auto width, int64_t channel) {
    constexpr int W = decltype(width)::kValue;
    float* head = taps + channel / group * k;
    const bool one_head = channel / group == (channel + W - 1) / group;
    for (int64_t j = 0; j < k; ++j) {
      const float* sums = spread + channel * k + j * W;
      if (one_head) {
        head[k - 1 - j] += sum_of<W>(load<W>(sums));
      } else {
        for (int lane = 0; lane < W; ++lane) {
          taps[(channel + lane) / group * k + k - 1 - j] += sums[lane];
        }
      }
    }
  });
}

template <class T, class Out>
CONVSEQ_INLINE void gate_row(const T* x, int64_t channels, Out* y, bool streamed) {
  Output<1, Out> out(streamed);
  for_blocks(0, channels, [&](auto width, int64_t c) {
    constexpr int W = decltype(width)::kValue;
    __builtin_prefetch(x + c + 512);  // into the next row, which lies on other pages
    __builtin_prefetch(x + channels + c + 512);
    const Floats<W> gated[1] = {load<W>(x + c) * sigmoid<W>(load<W>(x + channels + c))};
    out.template write<W>(y + c, 0, gated);
  });
}

// Asks for what the next tile is the first to read: processors do not guess across the rows' pages.
template <class T>
CONVSEQ_INLINE void fetch_next(const T* const* rows, int64_t channel, int64_t stride) {
  unroll<kTile>([&](auto r) CONVSEQ_LAMBDA {
    __builtin_prefetch(rows[r.kValue] + channel + kTile * stride);
  });
}

// The same, of rows that stand `stride` apart.
template <class T>
CONVSEQ_INLINE void fetch_next(const T* first, int64_t stride) {
  unroll<kTile>([&](auto r)
                    CONVSEQ_LAMBDA { __builtin_prefetch(first + (kTile + r.kValue) * stride); });
}

// A little ahead of what is stored, which is read before.
template <class T>
CONVSEQ_INLINE void fetch_to_store(const T* first, int64_t stride) {
  constexpr int kAhead = 1024 / sizeof(T);
  unroll<kTile>([&](auto r) CONVSEQ_LAMBDA {
    __builtin_prefetch(first + r.kValue * stride + kAhead, /*for writing*/ 1);
  });
}

// y [T,C] of one sequence, the steps [begin, end).
template <class In, class Out>
void convolve(const ConvShape& shape, const Rows<In>& x, const float* taps, const In** rows,
              int64_t begin, int64_t end, Out* y, bool streamed) {
  const int64_t k = shape.kernel, dilation = shape.dilation, channels = shape.channels;
  const int64_t stride = dilation * channels;
  for_tiles(begin, end, dilation, [&](auto tile, int64_t first) {
    constexpr int R = decltype(tile)::kValue;
    for (int64_t q = 0; q < R + k - 1; ++q) rows[q] = x[first - shape.left + q * dilation];
    Output<R, Out> out(streamed);
    for_blocks(0, channels, [&](auto width, int64_t channel) {
      constexpr int W = decltype(width)::kValue;
      Floats<W> sum[R];
      set_zero(sum);
      if constexpr (R == kTile) {
        fetch_next(rows + k - 1, channel, stride);
        if (!streamed) fetch_to_store(y + first * channels + channel, stride);
      }
      for_taps<R, W>(k, [&](auto count, int64_t j) CONVSEQ_LAMBDA {
        add_taps<R, decltype(count)::kValue, W>(rows + j, channel, taps + channel * k + j * W, sum);
      });
      out.template write<W>(y + first * channels + channel, stride, sum);
    });
  });
}

template <class T>
void forward_as(const ConvShape& shape, const ConvForward& arrays, const float* taps, Pieces pieces,
                Part part) {
  const int64_t channels = shape.channels, width = shape.glu ? 2 * channels : channels;
  const int64_t reach = reach_of(shape), window = shape.glu ? pieces.rows + reach : 0;
  const Buffer<float> zeros(channels), gated(window * channels);
  const Buffer<const void*> rows(shape.kernel + kTile);
  const bool streamed = is_streamed<T>(shape, arrays.y, channels);
  zeros.zero(channels);
  for (int64_t n = part.begin; n < part.end; ++n) {
    const auto [sequence, begin, end] = piece_of(shape, pieces, n);
    const int64_t length = length_of(shape, arrays.lengths, sequence);
    const T* x = row_of<T>(arrays.x, sequence * shape.time, width);
    T* y = row_of<T>(arrays.y, sequence * shape.time, channels);
    // Beyond these no output reads anything real.
    const int64_t last = length == 0 ? begin : larger(begin, smaller(end, length + shape.left));
    if (shape.glu) {
      const int64_t from = larger<int64_t>(0, begin - shape.left);
      const int64_t to = larger(from, smaller(length, last + reach - shape.left));
      for (int64_t t = from; t < to; ++t) {
        gate_row(x + t * width, channels, gated.get() + (t - from) * channels,
                 /*streamed=*/false);
      }
      convolve(shape, Rows<float>{gated.get(), from, to, channels, zeros.get()}, taps,
               reinterpret_cast<const float**>(rows.get()), begin, last, y, streamed);
    } else {
      const auto* nothing = reinterpret_cast<const T*>(zeros.get());
      convolve(shape, Rows<T>{x, 0, length, channels, nothing}, taps,
               reinterpret_cast<const T**>(rows.get()), begin, last, y, streamed);
    }
    zero_rows(y + last * channels, end - last, channels);
  }
  if (streamed) finish_streams();
}

// What a convolution reads: x itself, or the gate of x. `read` gives R rows of W channels, `write`
// turns their gradients into those of x.
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

  CONVSEQ_INLINE void fetch_next_of(int64_t at) const { fetch_next(x + at, stride); }
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
  explicit GateOutputs(bool streamed) : values(streamed), gates(streamed) {}
  Output<R, T> values, gates;
};

template <int R, int W, class T>
CONVSEQ_INLINE void gate_gradient(const T* x, int64_t channels, int64_t stride,
                                  const Floats<W> (&gradient)[R], T* dx, GateOutputs<R, T>& out) {
  Floats<W> of_value[R], of_gate[R];
  for (int r = 0; r < R; ++r) {
    const auto value = load<W>(x + r * stride),
               open = sigmoid<W>(load<W>(x + r * stride + channels));
    of_value[r] = gradient[r] * open;
    of_gate[r] = gradient[r] * value * open * (1.0F - open);
  }
  out.values.template write<W>(dx, stride, of_value);
  out.gates.template write<W>(dx + channels, stride, of_gate);
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

  CONVSEQ_INLINE void fetch_next_of(int64_t at) const {
    fetch_next(x + at, stride);
    fetch_next(x + at + channels, stride);
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

// dx of the steps [begin, end) of one sequence, and their share of the taps' gradient, spread.
template <class T, class Input>
void convolve_back(const ConvShape& shape, const Rows<T>& dy, const Input& x, const float* taps,
                   const T** rows, int64_t begin, int64_t end, float* dtaps) {
  const int64_t k = shape.kernel, dilation = shape.dilation, channels = shape.channels;
  // The same convolution with its taps reversed: what reached to the right now reaches left.
  const int64_t left = reach_of(shape) - shape.left;
  const int64_t width = shape.glu ? 2 * channels : channels;
  for_tiles(begin, end, dilation, [&](auto tile, int64_t first) {
    constexpr int R = decltype(tile)::kValue;
    for (int64_t q = 0; q < R + k - 1; ++q) rows[q] = dy[first - left + q * dilation];
    typename Input::template Outputs<R> out(x.streamed);
    for_blocks(0, channels, [&](auto lanes, int64_t channel) {
      constexpr int W = decltype(lanes)::kValue;
      Floats<W> input[R], sum[R];
      set_zero(sum);
      if constexpr (R == kTile) {
        fetch_next(rows + k - 1, channel, dilation * channels);
        x.fetch_next_of(first * width + channel);
      }
      x.template read<R, W>(first * width + channel, input);
      for_taps<R, W>(k, [&](auto count, int64_t j) CONVSEQ_LAMBDA {
        const int64_t at = channel * k + j * W;
        add_both<R, decltype(count)::kValue, W>(rows + j, channel, taps + at, input, sum,
                                                dtaps + at);
      });
      x.template write<R, W>(first * width + channel, sum, out);
    });
  });
}

template <class T>
void backward_as(const ConvShape& shape, const ConvBackward& arrays, const float* taps, float* sums,
                 Pieces pieces, Part part) {
  const int64_t channels = shape.channels, width = shape.glu ? 2 * channels : channels;
  const Buffer<T> zeros(channels);
  const Buffer<const T*> rows(shape.kernel + kTile);
  const Buffer<float> dtaps(channels * shape.kernel);
  zeros.zero(channels);
  const bool streamed = is_streamed<T>(shape, arrays.dx, width);
  for (int64_t n = part.begin; n < part.end; ++n) {
    const auto [sequence, begin, end] = piece_of(shape, pieces, n);
    const int64_t length = length_of(shape, arrays.lengths, sequence);
    const int64_t last = larger(begin, smaller(end, length)), stride = shape.dilation * width;
    const T* x = row_of<T>(arrays.x, sequence * shape.time, width);
    T* dx = arrays.dx == nullptr ? nullptr : row_of<T>(arrays.dx, sequence * shape.time, width);
    const T* dy = row_of<T>(arrays.dy, sequence * shape.time, channels);
    const Rows<T> window{dy, 0, shape.time, channels, zeros.get()};
    dtaps.zero(channels * shape.kernel);
    if (shape.glu) {
      convolve_back(shape, window, GatedInput<T>{x, dx, stride, channels, streamed}, taps,
                    rows.get(), begin, last, dtaps.get());
    } else {
      convolve_back(shape, window, PlainInput<T>{x, dx, stride, streamed}, taps, rows.get(), begin,
                    last, dtaps.get());
    }
    if (dx != nullptr) zero_rows(dx + last * width, end - last, width);
    gather_taps(shape, dtaps.get(), sums + n * shape.heads * shape.kernel);
  }
  if (streamed) finish_streams();
}

void forward(const ConvShape& shape, const ConvForward& arrays, const float* taps, Pieces pieces,
             Part part) {
  with_type(shape.type,
            [&](auto zero) { forward_as<decltype(zero)>(shape, arrays, taps, pieces, part); });
}

void backward(const ConvShape& shape, const ConvBackward& arrays, const float* taps, float* sums,
              Pieces pieces, Part part) {
  with_type(shape.type, [&](auto zero) {
    backward_as<decltype(zero)>(shape, arrays, taps, sums, pieces, part);
  });
}

void glu_forward(const ConvShape& shape, const ConvForward& arrays, Pieces pieces, Part part) {
  with_type(shape.type, [&](auto zero) {
    using T = decltype(zero);
    const int64_t channels = shape.channels;
    const bool streamed = is_streamed<T>(shape, arrays.y, channels);
    for (int64_t n = part.begin; n < part.end; ++n) {
      const auto [sequence, begin, end] = piece_of(shape, pieces, n);
      const int64_t last = larger(begin, smaller(end, length_of(shape, arrays.lengths, sequence)));
      const T* x = row_of<T>(arrays.x, sequence * shape.time, 2 * channels);
      T* y = row_of<T>(arrays.y, sequence * shape.time, channels);
      for (int64_t t = begin; t < last; ++t) {
        gate_row(x + t * 2 * channels, channels, y + t * channels, streamed);
      }
      zero_rows(y + last * channels, end - last, channels);
    }
    if (streamed) finish_streams();
  });
}

void glu_backward(const ConvShape& shape, const ConvBackward& arrays, Pieces pieces, Part part) {
  with_type(shape.type, [&](auto zero) {
    using T = decltype(zero);
    const int64_t channels = shape.channels;
    const bool streamed = is_streamed<T>(shape, arrays.dx, 2 * channels);
    for (int64_t n = part.begin; n < part.end; ++n) {
      const auto [sequence, begin, end] = piece_of(shape, pieces, n);
      const int64_t last = larger(begin, smaller(end, length_of(shape, arrays.lengths, sequence)));
      const T* x = row_of<T>(arrays.x, sequence * shape.time, 2 * channels);
      const T* dy = row_of<T>(arrays.dy, sequence * shape.time, channels);
      T* dx = row_of<T>(arrays.dx, sequence * shape.time, 2 * channels);
      for (int64_t t = begin; t < last; ++t) {
        GateOutputs<1, T> out(streamed);
        for_blocks(0, channels, [&](auto width, int64_t c) {
          constexpr int W = decltype(width)::kValue;
          const int64_t at = t * 2 * channels + c;
          const Floats<W> gradient[1] = {load<W>(dy + t * channels + c)};
          gate_gradient<1, W>(x + at, channels, 0, gradient, dx + at, out);
        });
      }
      zero_rows(dx + last * 2 * channels, end - last, 2 * channels);
    }
    if (streamed) finish_streams();
  });
}

}  // namespace

extern const ConvLoops kConvLoops;
const ConvLoops kConvLoops = {.spread = spread_taps,
                              .forward = forward,
                              .backward = backward,
                              .glu_forward = glu_forward,
                              .glu_backward = glu_backward};

}  // namespace convseq::kernels::CONVSEQ_LEVEL
