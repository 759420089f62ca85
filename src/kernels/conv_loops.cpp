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

template <class T>
CONVSEQ_INLINE void gate_row(const T* x, int64_t channels, auto* y) {
  for_blocks(0, channels, [&](auto width, int64_t c) {
    constexpr int W = decltype(width)::kValue;
    __builtin_prefetch(x + c + 512);  // into the next row, which lies on other pages
    __builtin_prefetch(x + channels + c + 512);
    store<W>(y + c, load<W>(x + c) * sigmoid<W>(load<W>(x + channels + c)));
  });
}

// Asks for the rows that the next tile is the first to read, and a little ahead of what is written:
// processors do not guess across the rows' pages.
template <class In, class Out>
CONVSEQ_INLINE void fetch_ahead(const In* const* rows, int64_t channel, const Out* y,
                                int64_t stride) {
  constexpr int kAhead = 1024 / sizeof(Out);
  unroll<kTile>([&](auto r) CONVSEQ_LAMBDA {
    __builtin_prefetch(rows[r.kValue] + channel + kTile * stride);
    __builtin_prefetch(y + r.kValue * stride + kAhead, /*for writing*/ 1);
  });
}

// y [T,C] of one sequence, the steps [begin, end).
template <class In, class Out>
void convolve(const ConvShape& shape, const Rows<In>& x, const float* taps, const In** rows,
              int64_t begin, int64_t end, Out* y) {
  const int64_t k = shape.kernel, dilation = shape.dilation, channels = shape.channels;
  for_tiles(begin, end, dilation, [&](auto tile, int64_t first) {
    constexpr int R = decltype(tile)::kValue;
    for (int64_t q = 0; q < R + k - 1; ++q) rows[q] = x[first - shape.left + q * dilation];
    for_blocks(0, channels, [&](auto width, int64_t channel) {
      constexpr int W = decltype(width)::kValue;
      Floats<W> sum[R] = {};
      if constexpr (R == kTile) {
        fetch_ahead(rows + k - 1, channel, y + first * channels + channel, dilation * channels);
      }
      for_taps<R, W>(k, [&](auto count, int64_t j) {
        add_taps<R, decltype(count)::kValue, W>(rows + j, channel, taps + channel * k + j * W, sum);
      });
      for (int r = 0; r < R; ++r) {
        store<W>(y + (first + r * dilation) * channels + channel, sum[r]);
      }
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
        gate_row(x + t * width, channels, gated.get() + (t - from) * channels);
      }
      convolve(shape, Rows<float>{gated.get(), from, to, channels, zeros.get()}, taps,
               reinterpret_cast<const float**>(rows.get()), begin, last, y);
    } else {
      const auto* nothing = reinterpret_cast<const T*>(zeros.get());
      convolve(shape, Rows<T>{x, 0, length, channels, nothing}, taps,
               reinterpret_cast<const T**>(rows.get()), begin, last, y);
    }
    zero_rows(y + last * channels, end - last, channels);
  }
}

// What a convolution reads: x itself, or the gate of x. `read` gives R rows of W channels, `write`
// turns their gradients into those of x.
template <class T>
struct PlainInput {
  const T* x;
  T* dx;
  int64_t stride;  // from one row of a tile to the next

  template <int R, int W>
  CONVSEQ_INLINE void read(int64_t at, Floats<W> (&input)[R]) const {
    for (int r = 0; r < R; ++r) input[r] = load<W>(x + at + r * stride);
  }
  template <int R, int W>
  CONVSEQ_INLINE void write(int64_t at, const Floats<W> (&gradient)[R]) const {
    if (dx == nullptr) return;
    for (int r = 0; r < R; ++r) store<W>(dx + at + r * stride, gradient[r]);
  }
};

template <int W, class T>
CONVSEQ_INLINE void gate_gradient(const T* x, int64_t channels, Floats<W> gradient, T* dx) {
  const auto value = load<W>(x), open = sigmoid<W>(load<W>(x + channels));
  store<W>(dx, gradient * open);
  store<W>(dx + channels, gradient * value * open * (1.0F - open));
}

template <class T>
struct GatedInput {
  const T* x;
  T* dx;
  int64_t stride;
  int64_t channels;

  template <int R, int W>
  CONVSEQ_INLINE void read(int64_t at, Floats<W> (&input)[R]) const {
    for (int r = 0; r < R; ++r) {
      const T* row = x + at + r * stride;
      input[r] = load<W>(row) * sigmoid<W>(load<W>(row + channels));
    }
  }
  template <int R, int W>
  CONVSEQ_INLINE void write(int64_t at, const Floats<W> (&gradient)[R]) const {
    if (dx == nullptr) return;
    for (int r = 0; r < R; ++r) {
      gate_gradient<W>(x + at + r * stride, channels, gradient[r], dx + at + r * stride);
    }
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
    for_blocks(0, channels, [&](auto lanes, int64_t channel) {
      constexpr int W = decltype(lanes)::kValue;
      Floats<W> input[R], sum[R] = {};
      x.template read<R, W>(first * width + channel, input);
      for_taps<R, W>(k, [&](auto count, int64_t j) {
        const int64_t at = channel * k + j * W;
        add_both<R, decltype(count)::kValue, W>(rows + j, channel, taps + at, input, sum,
                                                dtaps + at);
      });
      x.template write<R, W>(first * width + channel, sum);
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
      convolve_back(shape, window, GatedInput<T>{x, dx, stride, channels}, taps, rows.get(), begin,
                    last, dtaps.get());
    } else {
      convolve_back(shape, window, PlainInput<T>{x, dx, stride}, taps, rows.get(), begin, last,
                    dtaps.get());
    }
    if (dx != nullptr) zero_rows(dx + last * width, end - last, width);
    gather_taps(shape, dtaps.get(), sums + n * shape.heads * shape.kernel);
  }
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
    for (int64_t n = part.begin; n < part.end; ++n) {
      const auto [sequence, begin, end] = piece_of(shape, pieces, n);
      const int64_t last = larger(begin, smaller(end, length_of(shape, arrays.lengths, sequence)));
      const T* x = row_of<T>(arrays.x, sequence * shape.time, 2 * channels);
      T* y = row_of<T>(arrays.y, sequence * shape.time, channels);
      for (int64_t t = begin; t < last; ++t) {
        gate_row(x + t * 2 * channels, channels, y + t * channels);
      }
      zero_rows(y + last * channels, end - last, channels);
    }
  });
}

void glu_backward(const ConvShape& shape, const ConvBackward& arrays, Pieces pieces, Part part) {
  with_type(shape.type, [&](auto zero) {
    using T = decltype(zero);
    const int64_t channels = shape.channels;
    for (int64_t n = part.begin; n < part.end; ++n) {
      const auto [sequence, begin, end] = piece_of(shape, pieces, n);
      const int64_t last = larger(begin, smaller(end, length_of(shape, arrays.lengths, sequence)));
      const T* x = row_of<T>(arrays.x, sequence * shape.time, 2 * channels);
      const T* dy = row_of<T>(arrays.dy, sequence * shape.time, channels);
      T* dx = row_of<T>(arrays.dx, sequence * shape.time, 2 * channels);
      for (int64_t t = begin; t < last; ++t) {
        for_blocks(0, channels, [&](auto width, int64_t c) {
          constexpr int W = decltype(width)::kValue;
          const int64_t at = t * 2 * channels + c;
          gate_gradient<W>(x + at, channels, load<W>(dy + t * channels + c), dx + at);
        });
      }
      zero_rows(dx + last * 2 * channels, end - last, 2 * channels);
    }
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
