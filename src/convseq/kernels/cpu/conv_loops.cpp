#include "convseq/kernels/cpu/conv_input.h"
#include "convseq/kernels/cpu/static_taps.h"

// Convolutions with static taps.
namespace convseq::kernels::CONVSEQ_LEVEL {
namespace {

// Taps in registers. The sums of the gradient of the taps need registers too, and AVX2 has only 16.
constexpr int kTapBlock = kLanes == 8 ? 4 : 8;
constexpr int kBackwardTapBlock = kLanes == 16 ? 8 : 4;

// J taps at once, or, where J is 0, all taps in blocks. Only whole tiles of whole vectors are worth
// many variants; the rest is computed tap by tap.
template <int J, int B, bool kWhole, class F>
CONVSEQ_INLINE void for_taps(int64_t kernel, const F& f) {
  if constexpr (J > 0) {
    f(Number<J>{}, 0);
  } else {
    for_tap_blocks<kWhole ? B : 1>(kernel, f);
  }
}

// sum[v][r] += Σ_j taps[j] · rows[r + j], J taps, V vectors of channels.
template <int J, int W, int R, int V, class In, class Taps>
CONVSEQ_INLINE void add_taps(const In* const* rows, int64_t channel, const Taps& taps,
                             Floats<W> (&sum)[V][R]) {
  unroll<R + J - 1>([&](auto q) CONVSEQ_LAMBDA {
    unroll<V>([&](auto v) CONVSEQ_LAMBDA {
      const auto x = load<W>(rows[q.kValue] + channel + v.kValue * W);
      for_readers<R, J, decltype(q)::kValue>([&](auto j, auto r) CONVSEQ_LAMBDA {
        sum[v.kValue][r.kValue] += taps.template at<W>(j.kValue) * x;
      });
    });
  });
}

// The same for one vector, and dtaps[j] += Σ_r input[r] · rows[r + j].
template <int J, int W, int R, class In, class Taps>
CONVSEQ_INLINE void add_both(const In* const* rows, int64_t channel, const Taps& taps,
                             const Floats<W> (&input)[R], Floats<W> (&sum)[R], float* dtaps) {
  Floats<W> d[J];
  unroll<J>([&](auto j) CONVSEQ_LAMBDA { d[j.kValue] = load<W>(dtaps + j.kValue * W); });
  unroll<R + J - 1>([&](auto q) CONVSEQ_LAMBDA {
    const auto dy = load<W>(rows[q.kValue] + channel);
    for_readers<R, J, decltype(q)::kValue>([&](auto j, auto r) CONVSEQ_LAMBDA {
      sum[r.kValue] += taps.template at<W>(j.kValue) * dy;
      d[j.kValue] += input[r.kValue] * dy;
    });
  });
  unroll<J>([&](auto j) CONVSEQ_LAMBDA { store<W>(dtaps + j.kValue * W, d[j.kValue]); });
}

// The output of one sequence: row t is at first + t · stride.
template <class T>
struct OutputRows {
  T* first;
  int64_t stride;
  bool streamed;
  int64_t zeroed_end = 0;  // rows up to it may be zeroed with zero_lines() before they are written
};

// What a tile of shared taps does for later tiles, which begin at the same channels: it prefetches
// their part of the input into the second-level cache and zeroes the cache lines of their output.
// Both go through memory line by line; a tile's own order jumps from row to row.
template <int R, class In, class Out>
struct LaterTiles {
  const In* input = nullptr;  // R · C values, read two blocks of tiles later
  Out* output = nullptr;      // R · C values, written in the next block of tiles

  // For the tile that begins at `first`; `base` is the first step of its block of `dilation` tiles.
  LaterTiles(const ConvShape& shape, const Rows<In>& x, const OutputRows<Out>& y, int64_t base,
             int64_t first)
      : LaterTiles(shape, y, base, first) {
    if (x.width != shape.channels) return;
    const int64_t read = reach_of(shape) - shape.left;  // beyond a tile's first step
    input = x.at(base + R * (first - base + 2 * shape.dilation) + read);
  }
  LaterTiles(const ConvShape& shape, const RingRows& /*x*/, const OutputRows<Out>& y, int64_t base,
             int64_t first)
      : LaterTiles(shape, y, base, first) {}

  template <int N>
  CONVSEQ_INLINE void prepare(int64_t channel) const {
    if (input != nullptr) prefetch_values<R * N>(input + R * channel);
    if (output != nullptr) zero_lines<R * N>(output + R * channel);
  }

 private:
  LaterTiles(const ConvShape& shape, const OutputRows<Out>& y, int64_t base, int64_t first) {
    const int64_t next = base + R * (first - base + shape.dilation);
    if (next + R <= y.zeroed_end) output = y.first + next * y.stride;
  }
};

// Writes V vectors of each row, row by row: whole cache lines.
template <int V, int R, class T>
CONVSEQ_INLINE void store_rows(T* to, int64_t stride, const Floats<kLanes> (&sum)[V][R]) {
  unroll<R>([&](auto r) CONVSEQ_LAMBDA {
    unroll<V>([&](auto v) CONVSEQ_LAMBDA {
      store<kLanes>(to + r.kValue * stride + v.kValue * kLanes, sum[v.kValue][r.kValue]);
    });
  });
}

// y of one sequence at the time steps [begin, end). `Input` is Rows<In> or RingRows.
template <bool kShared, int J, class Input, class In, class Out>
void convolve(const ConvShape& shape, const Input& x, const float* packed_taps, const In** rows,
              int64_t begin, int64_t end, const OutputRows<Out>& y) {
  constexpr int kRows = kShared ? kSharedTile : kTile;
  const int64_t k = J > 0 ? J : shape.kernel, dilation = shape.dilation;
  const int64_t x_step = dilation * x.width, y_step = dilation * y.stride;
  for_tiles<kRows>(begin, end, dilation, [&](auto tile, int64_t first, int64_t base) {
    constexpr int R = decltype(tile)::kValue;
    const In* held[R + J];  // in registers: loading them for every block of channels takes longer
    const In** const reads = J > 0 ? held : rows;
    x.list(first - shape.left, dilation, R + k - 1, reads);
    Out* const y_first = y.first + first * y.stride;
    const LaterTiles<R, In, Out> later(shape, x, y, base, first);
    Output<R, Out> out(y.streamed);
    for_channels<kShared, J, kSharedVectors>(
        shape, packed_taps, [&](auto vectors, auto width, int64_t channel, const auto& taps) {
          constexpr int V = decltype(vectors)::kValue, W = decltype(width)::kValue;
          Floats<W> sum[V][R];
          for (auto& vector : sum) set_zero(vector);
          if constexpr (kPrefetches && R == kRows) {
            if (begins_line<In>(channel)) prefetch_next<R>(reads + k - 1, channel, x_step);
            if (begins_line<Out>(channel) && !y.streamed) {
              prefetch_for_store<R>(y_first + channel, y_step);
            }
          }
          if constexpr (kShared && R == kRows) later.template prepare<V * W>(channel);
          for_taps<J, kTapBlock, R == kRows && W == kLanes>(
              k, [&](auto count, int64_t j) CONVSEQ_LAMBDA {
                add_taps<decltype(count)::kValue, W>(reads + j, channel, taps.from(j, W), sum);
              });
          if constexpr (kShared) {
            store_rows(y_first + channel, y_step, sum);
          } else {
            out.template write<W>(y_first + channel, y_step, sum[0]);
          }
        });
  });
}

template <class Input, class In, class Out>
void convolve(const ConvShape& shape, const Input& x, const float* packed_taps, const In** rows,
              int64_t begin, int64_t end, const OutputRows<Out>& y) {
  if constexpr (kSharedVectors > 0) {
    if (shares_taps(shape)) {
      return with_tap_count(shape.kernel, [&](auto count) {
        convolve</*kShared=*/true, count.kValue>(shape, x, packed_taps, rows, begin, end, y);
      });
    }
  }
  convolve</*kShared=*/false, 0>(shape, x, packed_taps, rows, begin, end, y);
}

template <class T>
void forward_as(const ConvShape& shape, const ConvForward& arrays, const float* taps, Pieces pieces,
                Part part) {
  const int64_t channels = shape.channels, width = shape.glu ? 2 * channels : channels;
  const Buffer<float> zeros(channels);
  const Buffer<const void*> rows(shape.kernel + kTile);
  const bool streamed = is_streamed<T>(shape, arrays.y, channels);
  const bool zeroed = can_zero_lines() && fills_lines<T>(shape, arrays.y);
  zeros.zero(channels);
  GatedRows<T> gated(shape, shares_taps(shape) ? kSharedTile : kTile, zeros.get());
  for (int64_t n = part.begin; n < part.end; ++n) {
    const auto [sequence, begin, end] = piece_of(shape, pieces, n);
    const int64_t length = length_of(shape, arrays.lengths, sequence);
    const T* x = row_of<T>(arrays.x, sequence * shape.time, width);
    // Outputs after these read padding alone.
    const int64_t last = length == 0 ? begin : larger(begin, smaller(end, length + shape.left));
    const OutputRows<T> y{row_of<T>(arrays.y, sequence * shape.time, channels), channels, streamed,
                          zeroed ? last : 0};
    if (shape.glu) {
      for (int64_t t = begin; t < last; t += gated.step()) {
        const int64_t to = smaller(t + gated.step(), last);
        convolve(shape, gated.window(x, sequence, length, t, to), taps,
                 reinterpret_cast<const float**>(rows.get()), t, to, y);
      }
    } else {
      const auto* nothing = reinterpret_cast<const T*>(zeros.get());
      convolve(shape, Rows<T>{x, 0, length, channels, nothing}, taps,
               reinterpret_cast<const T**>(rows.get()), begin, last, y);
    }
    zero_rows(y.first + last * channels, end - last, channels);
  }
  if (streamed) fence_streams();
}

// The input of a convolution, and where its gradient is stored: rows of C values from time step
// `origin` on. A gradient that is not needed (`dx` is null) is stored too, all in one place: a
// branch would keep the compiler from computing it together with the gradient of the taps.
template <class T>
struct BackwardRows {
  const T* x;
  T* dx;
  T* unwanted;  // kLanes values
  int64_t origin;
  bool streamed;
};

// dx of one sequence at the time steps [begin, end), and their part of the gradient of the expanded
// taps. The taps are reversed.
template <bool kShared, int J, class T, class In>
void convolve_backward(const ConvShape& shape, const Rows<T>& dy, const BackwardRows<In>& input,
                       const float* packed_taps, const T** rows, int64_t begin, int64_t end,
                       float* dtaps) {
  const int64_t k = J > 0 ? J : shape.kernel, dilation = shape.dilation;
  const int64_t channels = shape.channels;
  // The same convolution with reversed taps: the reach to the right becomes the reach to the left.
  const int64_t left = reach_of(shape) - shape.left, step = dilation * channels;
  const bool wanted = input.dx != nullptr;
  for_tiles<kTile>(begin, end, dilation, [&](auto tile, int64_t first, int64_t /*base*/) {
    constexpr int R = decltype(tile)::kValue;
    const T* held[R + J];
    const T** const reads = J > 0 ? held : rows;
    dy.list(first - left, dilation, R + k - 1, reads);
    const int64_t offset = (first - input.origin) * channels;
    Output<R, In> out(input.streamed);
    for_channels<kShared, J, 1>(
        shape, packed_taps, [&](auto, auto width, int64_t channel, const auto& taps) {
          constexpr int W = decltype(width)::kValue;
          const In* x = input.x + offset + channel;
          Floats<W> values[R], sum[R];
          set_zero(sum);
          if constexpr (kPrefetches && R == kTile) {
            if (begins_line<T>(channel)) {
              prefetch_next<R>(reads + k - 1, channel, step);
              prefetch_next<R>(x, step);
            }
          }
          for (int r = 0; r < R; ++r) values[r] = load<W>(x + r * step);
          for_taps<J, kBackwardTapBlock, R == kTile && W == kLanes>(
              k, [&](auto count, int64_t j) CONVSEQ_LAMBDA {
                add_both<decltype(count)::kValue, W>(reads + j, channel, taps.from(j, W), values,
                                                     sum, dtaps + channel * k + j * W);
              });
          out.template write<W>(wanted ? input.dx + offset + channel : input.unwanted,
                                wanted ? step : 0, sum);
        });
  });
}

template <class T, class In>
void convolve_backward(const ConvShape& shape, const Rows<T>& dy, const BackwardRows<In>& input,
                       const float* packed_taps, const T** rows, int64_t begin, int64_t end,
                       float* dtaps) {
  if constexpr (kSharedVectors > 0) {
    if (shares_taps(shape)) {
      return with_tap_count(shape.kernel, [&](auto count) {
        convolve_backward</*kShared=*/true, count.kValue>(shape, dy, input, packed_taps, rows,
                                                          begin, end, dtaps);
      });
    }
  }
  convolve_backward</*kShared=*/false, 0>(shape, dy, input, packed_taps, rows, begin, end, dtaps);
}

// As convolve_backward for the gated x; x and dx are row 0 of the sequence, [2C].
template <class T>
void gated_backward(const ConvShape& shape, const Rows<T>& dy, const T* x, T* dx, bool streamed,
                    const GateScratch& scratch, const float* packed_taps, const T** rows,
                    int64_t begin, int64_t end, float* dtaps) {
  const int64_t channels = shape.channels, width = 2 * channels;
  for (int64_t from = begin; from < end; from += scratch.rows) {
    const int64_t to = smaller(from + scratch.rows, end);
    for (int64_t t = from; t < to; ++t) {
      const int64_t at = (t - from) * channels;
      sigmoid_row(x + t * width, channels, scratch.sigma.get() + at, scratch.gated.get() + at);
    }
    float* const gradient = scratch.gradient.get();
    convolve_backward(shape, dy,
                      BackwardRows<float>{scratch.gated.get(), gradient, nullptr, from, false},
                      packed_taps, rows, from, to, dtaps);
    for (int64_t t = from; t < to && dx != nullptr; ++t) {
      const int64_t at = (t - from) * channels;
      gate_gradient_row(x + t * width, scratch.sigma.get() + at, gradient + at, channels,
                        dx + t * width, streamed);
    }
  }
}

template <class T>
void backward_as(const ConvShape& shape, const ConvBackward& arrays, const float* taps, float* sums,
                 Pieces pieces, Part part) {
  const int64_t channels = shape.channels, width = shape.glu ? 2 * channels : channels;
  const Buffer<T> zeros(channels), unwanted(kLanes);
  const Buffer<const T*> rows(shape.kernel + kTile);
  const Buffer<float> dtaps(channels * shape.kernel);
  const GateScratch scratch(shape);
  zeros.zero(channels);
  const bool streamed = arrays.dx != nullptr && is_streamed<T>(shape, arrays.dx, width);
  for (int64_t n = part.begin; n < part.end; ++n) {
    const auto [sequence, begin, end] = piece_of(shape, pieces, n);
    const int64_t length = length_of(shape, arrays.lengths, sequence);
    const int64_t last = larger(begin, smaller(end, length));
    const T* x = row_of<T>(arrays.x, sequence * shape.time, width);
    T* dx = arrays.dx == nullptr ? nullptr : row_of<T>(arrays.dx, sequence * shape.time, width);
    const T* dy = row_of<T>(arrays.dy, sequence * shape.time, channels);
    const Rows<T> window{dy, 0, shape.time, channels, zeros.get()};
    dtaps.zero(channels * shape.kernel);
    if (shape.glu) {
      gated_backward(shape, window, x, dx, streamed, scratch, taps, rows.get(), begin, last,
                     dtaps.get());
    } else {
      convolve_backward(shape, window, BackwardRows<T>{x, dx, unwanted.get(), 0, streamed}, taps,
                        rows.get(), begin, last, dtaps.get());
    }
    if (dx != nullptr) zero_rows(dx + last * width, end - last, width);
    reduce_taps(shape, dtaps.get(), sums + n * shape.heads * shape.kernel);
  }
  if (streamed) fence_streams();
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

void rows(const ConvShape& shape, const InputRows& x, const float* packed_taps,
          const float** pointers, const OutputSpan& y) {
  convolve(shape, Rows<float>{x.first, x.begin, x.end, x.stride, x.zeros}, packed_taps, pointers,
           y.begin, y.end, OutputRows<float>{y.first, y.stride, /*streamed=*/false});
}

}  // namespace

extern const ConvLoops kConvLoops;
const ConvLoops kConvLoops = {.pack_taps = pack_taps,
                              .forward = forward,
                              .backward = backward,
                              .rows = rows,
                              .gate_rows = gate_rows,
                              .multiply_row = multiply_row,
                              .glu_forward = glu_forward,
                              .glu_backward = glu_backward};

}  // namespace convseq::kernels::CONVSEQ_LEVEL
