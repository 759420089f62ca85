#include "convseq/kernels/cpu/conv_input.h"
#include "convseq/kernels/cpu/static_taps.h"

// Convolutions with static taps.
namespace convseq::kernels::CONVSEQ_LEVEL {
namespace {

// Taps in registers. The sums of the gradient of the taps need registers too, and AVX2 has only 16.
constexpr int kTapBlock = kLanes == 8 ? 4 : 8;
constexpr int kBackwardTapBlock = kLanes == 16 ? 8 : 4;

// Only whole tiles of whole vectors are worth many variants; the rest is computed tap by tap.
template <int B, bool kWhole, class F>
CONVSEQ_INLINE void for_taps(int64_t kernel, const F& f) {
  for_tap_blocks<kWhole ? B : 1>(kernel, f);
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

// y of one sequence at the time steps [begin, end).
template <bool kShared, class In, class Out>
void convolve(const ConvShape& shape, const Rows<In>& x, const float* packed_taps, const In** rows,
              int64_t begin, int64_t end, const OutputRows<Out>& y) {
  constexpr int kRows = kShared ? kSharedTile : kTile;
  const int64_t k = shape.kernel, dilation = shape.dilation;
  const int64_t x_step = dilation * x.width, y_step = dilation * y.stride;
  for_tiles<kRows>(begin, end, dilation, [&](auto tile, int64_t first) {
    constexpr int R = decltype(tile)::kValue;
    for (int64_t q = 0; q < R + k - 1; ++q) rows[q] = x[first - shape.left + q * dilation];
    Out* const y_first = y.first + first * y.stride;
    Output<R, Out> out(y.streamed);
    for_channels<kShared, kSharedVectors>(
        shape, packed_taps, [&](auto vectors, auto width, int64_t channel, const auto& taps) {
          constexpr int V = decltype(vectors)::kValue, W = decltype(width)::kValue;
          Floats<W> sum[V][R];
          for (auto& vector : sum) set_zero(vector);
          if constexpr (kPrefetches && R == kRows) {
            if (begins_line<In>(channel)) prefetch_next<R>(rows + k - 1, channel, x_step);
            if (begins_line<Out>(channel) && !y.streamed) {
              prefetch_for_store<R>(y_first + channel, y_step);
            }
          }
          for_taps<kTapBlock, R == kRows && W == kLanes>(
              k, [&](auto count, int64_t j) CONVSEQ_LAMBDA {
                add_taps<decltype(count)::kValue, W>(rows + j, channel, taps.from(j, W), sum);
              });
          if constexpr (kShared) {
            store_rows(y_first + channel, y_step, sum);
          } else {
            out.template write<W>(y_first + channel, y_step, sum[0]);
          }
        });
  });
}

template <class In, class Out>
void convolve(const ConvShape& shape, const Rows<In>& x, const float* packed_taps, const In** rows,
              int64_t begin, int64_t end, const OutputRows<Out>& y) {
  if constexpr (kSharedVectors > 0) {
    if (shares_taps(shape)) {
      return convolve</*kShared=*/true>(shape, x, packed_taps, rows, begin, end, y);
    }
  }
  convolve</*kShared=*/false>(shape, x, packed_taps, rows, begin, end, y);
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
  int64_t held_sequence = -1, held_from = 0, held_to = 0;  // the rows in `gated`
  for (int64_t n = part.begin; n < part.end; ++n) {
    const auto [sequence, begin, end] = piece_of(shape, pieces, n);
    const int64_t length = length_of(shape, arrays.lengths, sequence);
    const T* x = row_of<T>(arrays.x, sequence * shape.time, width);
    T* y = row_of<T>(arrays.y, sequence * shape.time, channels);
    // Outputs after these read padding alone.
    const int64_t last = length == 0 ? begin : larger(begin, smaller(end, length + shape.left));
    if (shape.glu) {
      const int64_t from = larger<int64_t>(0, begin - shape.left);
      const int64_t to = larger(from, smaller(length, last + reach - shape.left));
      int64_t gate_from = from;
      if (sequence == held_sequence && from >= held_from && from < held_to) {
        __builtin_memmove(gated.get(), gated.get() + (from - held_from) * channels,
                          static_cast<size_t>((held_to - from) * channels) * sizeof(float));
        gate_from = held_to;
      }
      held_sequence = sequence, held_from = from, held_to = to;
      for (int64_t t = gate_from; t < to; ++t) {
        gate_row(x + t * width, channels, gated.get() + (t - from) * channels,
                 /*streamed=*/false);
      }
      convolve(shape, Rows<float>{gated.get(), from, to, channels, zeros.get()}, taps,
               reinterpret_cast<const float**>(rows.get()), begin, last,
               OutputRows<T>{y, channels, streamed});
    } else {
      const auto* nothing = reinterpret_cast<const T*>(zeros.get());
      convolve(shape, Rows<T>{x, 0, length, channels, nothing}, taps,
               reinterpret_cast<const T**>(rows.get()), begin, last,
               OutputRows<T>{y, channels, streamed});
    }
    zero_rows(y + last * channels, end - last, channels);
  }
  if (streamed) fence_streams();
}

// dx of one sequence at the time steps [begin, end), and their part of the gradient of the expanded
// taps. The taps are reversed.
template <bool kShared, class T, class Input>
void convolve_backward(const ConvShape& shape, const Rows<T>& dy, const Input& x,
                       const float* packed_taps, const T** rows, int64_t begin, int64_t end,
                       float* dtaps) {
  const int64_t k = shape.kernel, dilation = shape.dilation, channels = shape.channels;
  // The same convolution with reversed taps: the reach to the right becomes the reach to the left.
  const int64_t left = reach_of(shape) - shape.left;
  const int64_t input_width = shape.glu ? 2 * channels : channels;
  for_tiles<kTile>(begin, end, dilation, [&](auto tile, int64_t first) {
    constexpr int R = decltype(tile)::kValue;
    for (int64_t q = 0; q < R + k - 1; ++q) rows[q] = dy[first - left + q * dilation];
    typename Input::template Outputs<R> out(x.streamed);
    for_channels<kShared, 1>(
        shape, packed_taps, [&](auto, auto width, int64_t channel, const auto& taps) {
          constexpr int W = decltype(width)::kValue;
          const int64_t at = first * input_width + channel;
          typename Input::template Kept<R, W> kept;
          Floats<W> input[R], sum[R];
          set_zero(sum);
          if constexpr (kPrefetches && R == kTile) {
            if (begins_line<T>(channel)) {
              prefetch_next<R>(rows + k - 1, channel, dilation * channels);
              x.template prefetch_next_at<R>(at);
            }
          }
          x.template read<R, W>(at, input, kept);
          for_taps<kBackwardTapBlock, R == kTile && W == kLanes>(
              k, [&](auto count, int64_t j) CONVSEQ_LAMBDA {
                add_both<decltype(count)::kValue, W>(rows + j, channel, taps.from(j, W), input, sum,
                                                     dtaps + channel * k + j * W);
              });
          x.template write<R, W>(at, sum, kept, out);
        });
  });
}

template <class T, class Input>
void convolve_backward(const ConvShape& shape, const Rows<T>& dy, const Input& x,
                       const float* packed_taps, const T** rows, int64_t begin, int64_t end,
                       float* dtaps) {
  if constexpr (kSharedVectors > 0) {
    if (shares_taps(shape)) {
      return convolve_backward</*kShared=*/true>(shape, dy, x, packed_taps, rows, begin, end,
                                                 dtaps);
    }
  }
  convolve_backward</*kShared=*/false>(shape, dy, x, packed_taps, rows, begin, end, dtaps);
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
      convolve_backward(shape, window, GatedInput<T>{x, dx, stride, channels, streamed}, taps,
                        rows.get(), begin, last, dtaps.get());
    } else {
      convolve_backward(shape, window, PlainInput<T>{x, dx, stride, streamed}, taps, rows.get(),
                        begin, last, dtaps.get());
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
