#include "convseq/kernels/cpu/conv_input.h"

// Convolutions with static taps, and the gate.
namespace convseq::kernels::CONVSEQ_LEVEL {
namespace {

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

void expand_taps(const ConvShape& shape, const float* taps, bool reversed, float* expanded) {
  const int64_t k = shape.kernel, group = shape.channels / shape.heads;
  for_blocks(0, shape.channels, [&](auto width, int64_t channel) {
    constexpr int W = decltype(width)::kValue;
    for (int64_t j = 0; j < k; ++j) {
      for (int lane = 0; lane < W; ++lane) {
        const float* head = taps + (channel + lane) / group * k;
        expanded[channel * k + j * W + lane] = head[reversed ? k - 1 - j : j];
      }
    }
  });
}

// Sums expanded and reversed [C,k] over the channels of each head, to [H,k].
void reduce_taps(const ConvShape& shape, const float* expanded, float* taps) {
  const int64_t k = shape.kernel, group = shape.channels / shape.heads;
  __builtin_memset(taps, 0, static_cast<size_t>(shape.heads * k) * sizeof(float));
  for_blocks(0, shape.channels, [&](auto width, int64_t channel) {
    constexpr int W = decltype(width)::kValue;
    float* head = taps + channel / group * k;
    const bool one_head = channel / group == (channel + W - 1) / group;
    for (int64_t j = 0; j < k; ++j) {
      const float* sums = expanded + channel * k + j * W;
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

// y [T,C] of one sequence at the time steps [begin, end).
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
        prefetch_next(rows + k - 1, channel, stride);
        if (!streamed) prefetch_for_store(y + first * channels + channel, stride);
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
    // Outputs after these read padding alone.
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
  if (streamed) fence_streams();
}

// dx of one sequence at the time steps [begin, end), and their part of the gradient of the expanded
// taps.
template <class T, class Input>
void convolve_backward(const ConvShape& shape, const Rows<T>& dy, const Input& x, const float* taps,
                       const T** rows, int64_t begin, int64_t end, float* dtaps) {
  const int64_t k = shape.kernel, dilation = shape.dilation, channels = shape.channels;
  // The same convolution with reversed taps: the reach to the right becomes the reach to the left.
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
        prefetch_next(rows + k - 1, channel, dilation * channels);
        x.prefetch_next_at(first * width + channel);
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
    if (streamed) fence_streams();
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
    if (streamed) fence_streams();
  });
}

}  // namespace

extern const ConvLoops kConvLoops;
const ConvLoops kConvLoops = {.expand = expand_taps,
                              .forward = forward,
                              .backward = backward,
                              .glu_forward = glu_forward,
                              .glu_backward = glu_backward};

}  // namespace convseq::kernels::CONVSEQ_LEVEL
