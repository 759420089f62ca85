#include "convseq/kernels/cpu/conv_tile_loops.h"
#include "convseq/kernels/cpu/dynamic_taps.h"
#include "convseq/kernels/cpu/weighted_sum.h"

// Convolutions with dynamic taps, and one step of decoding. The unit of work is one position of one
// head: its taps are scalars, its channels a few vectors.
namespace convseq::kernels::CONVSEQ_LEVEL {
namespace {

constexpr int kGradientTaps = kLanes == 8 ? 4 : 8;  // taps whose gradients are summed at a time

// sums[n] = Σ_c dy[c] · rows[n][c] over one head's channels, N rows.
template <int N, class T>
CONVSEQ_INLINE void dot_products(const T* dy, const T* const* rows, int64_t begin, int64_t end,
                                 float* sums) {
  Floats<kLanes> wide[N] = {};
  int64_t c = begin;
  for (; c + kLanes <= end; c += kLanes) {
    const auto gradient = load<kLanes>(dy + c);
    for (int n = 0; n < N; ++n) wide[n] += gradient * load<kLanes>(rows[n] + c);
  }
  for (int n = 0; n < N; ++n) sums[n] = sum_of<kLanes>(wide[n]);
  for (; c < end; ++c) {
    const auto gradient = load<1>(dy + c);
    for (int n = 0; n < N; ++n) sums[n] += (gradient * load<1>(rows[n] + c))[0];
  }
}

// gradient [H,k] at one position: dy · the row that each tap read.
template <class T>
void tap_gradient(const ConvShape& shape, const T* dy, const T* const* rows, float* gradient) {
  const int64_t k = shape.kernel, group = shape.channels / shape.heads;
  for (int64_t head = 0; head < shape.heads; ++head, gradient += k) {
    const int64_t begin = head * group, end = begin + group;
    for_tap_blocks<kGradientTaps>(k, [&](auto count, int64_t j) {
      dot_products<decltype(count)::kValue>(dy, rows + j, begin, end, gradient + j);
    });
  }
}

// The output at position t from the rows of x and the taps [H,k] of this position.
template <class T>
CONVSEQ_INLINE void convolve_position(const ConvShape& shape, const Rows<T>& x, const float* taps,
                                      int64_t t, Terms<T> terms, T* y) {
  for (int64_t j = 0; j < shape.kernel; ++j) {
    const int64_t from = t - shape.left + j * shape.dilation;
    if (from >= x.begin && from < x.end) terms.add(x[from], taps + j);
  }
  weighted_sum(shape, terms, y);
}

// Positions and vectors of channels whose sums are computed together: half of 32 registers.
constexpr int kPositions = 4;
#if defined(__aarch64__) || CONVSEQ_LANES == 16
constexpr bool kHasTiles = true;
#else
constexpr bool kHasTiles = false;
#endif

// Outputs t, t + dilation, ... of kPositions positions, which read `rows` [k + kPositions − 1]. The
// taps [H,k] of each are `tap_step` floats apart.
template <class T>
void convolve_tile(const ConvShape& shape, const T* const* rows, const float* taps,
                   int64_t tap_step, T* y, int64_t y_step) {
  const int64_t k = shape.kernel, group = shape.channels / shape.heads;
  for (int64_t head = 0; head < shape.heads; ++head, taps += k) {
    for (int64_t c = head * group; c < (head + 1) * group; c += kVectors * kLanes) {
      Floats<kLanes> sum[kPositions][kVectors] = {};
      // Row q is read by positions First to Last; position p reads it by its tap q − p.
      const auto add = [&](int64_t q, auto first_position, auto last_position) CONVSEQ_LAMBDA {
        constexpr int First = decltype(first_position)::kValue;
        constexpr int Count = decltype(last_position)::kValue - First + 1;
        unroll<kVectors>([&](auto v) CONVSEQ_LAMBDA {
          const auto x = load<kLanes>(rows[q] + c + v.kValue * kLanes);
          unroll<Count>([&](auto i) CONVSEQ_LAMBDA {
            constexpr int p = First + decltype(i)::kValue;
            sum[p][v.kValue] += taps[p * tap_step + q - p] * x;
          });
        });
      };
      constexpr Number<0> kFirst;
      constexpr Number<kPositions - 1> kLast;
      unroll<kPositions - 1>([&](auto q) CONVSEQ_LAMBDA { add(q.kValue, kFirst, q); });
      for (int64_t q = kPositions - 1; q < k; ++q) add(q, kFirst, kLast);
      unroll<kPositions - 1>([&](auto q) CONVSEQ_LAMBDA {
        add(k + q.kValue, Number<decltype(q)::kValue + 1>{}, kLast);
      });
      for (int p = 0; p < kPositions; ++p) {
        for (int v = 0; v < kVectors; ++v)
          store<kLanes>(y + p * y_step + c + v * kLanes, sum[p][v]);
      }
    }
  }
}

template <class T>
struct PositionScratch {
  float* taps;           // kPositions · [H,k]
  const T** rows;        // k + kPositions
  const float** tap_of;  // k
};

// Outputs [begin, end) of one sequence; the taps of position t are those of `origin` + t.
template <class T>
void convolve_positions(const ConvShape& shape, const Rows<T>& x, const DynamicTaps& taps,
                        int64_t origin, int64_t begin, int64_t end,
                        const PositionScratch<T>& scratch, T* y, int64_t y_stride) {
  const int64_t count = shape.heads * shape.kernel, group = shape.channels / shape.heads;
  const bool tiled = kHasTiles && shape.dilation == 1 && shape.kernel >= kPositions &&
                     group % (kVectors * kLanes) == 0;
  for (int64_t t = begin; t < end;) {
    const int64_t from = t - shape.left;
    if (tiled && t + kPositions <= end && from >= x.begin &&
        from + shape.kernel - 1 + kPositions <= x.end) {
      for (int64_t p = 0; p < kPositions; ++p) {
        read_taps(shape, taps, origin + t + p, scratch.taps + p * count);
      }
      for (int64_t q = 0; q < shape.kernel + kPositions - 1; ++q) scratch.rows[q] = x[from + q];
      convolve_tile(shape, scratch.rows, scratch.taps, count, y + t * y_stride, y_stride);
      t += kPositions;
    } else {
      read_taps(shape, taps, origin + t, scratch.taps);
      convolve_position(shape, x, scratch.taps, t, Terms<T>{scratch.rows, scratch.tap_of, 0},
                        y + t * y_stride);
      ++t;
    }
  }
}

template <class T>
void forward_as(const ConvShape& shape, const DynamicConvForward& arrays, Pieces pieces,
                Part part) {
  const Buffer<float> taps(kPositions * shape.heads * shape.kernel);
  const Buffer<const T*> rows(shape.kernel + kPositions);
  const Buffer<const float*> tap_of(shape.kernel);
  for (int64_t n = part.begin; n < part.end; ++n) {
    const auto [sequence, begin, end] = piece_of(shape, pieces, n);
    const int64_t origin = sequence * shape.time;
    const Rows<T> x{row_of<T>(arrays.x, origin, shape.channels), 0, shape.time, shape.channels,
                    nullptr};
    convolve_positions(shape, x, arrays.taps, origin, begin, end,
                       PositionScratch<T>{taps.get(), rows.get(), tap_of.get()},
                       row_of<T>(arrays.y, origin, shape.channels), shape.channels);
  }
}

void rows(const ConvShape& shape, const InputRows& x, const DynamicTaps& taps,
          const TermScratch& scratch, const OutputSpan& y) {
  convolve_positions(
      shape, Rows<float>{x.first, x.begin, x.end, x.stride, x.zeros}, taps, 0, y.begin, y.end,
      PositionScratch<float>{scratch.taps, scratch.rows, scratch.tap_of}, y.first, y.stride);
}

template <class T>
class DynamicBackward {
 public:
  DynamicBackward(const ConvShape& shape, const DynamicConvBackward& arrays, Pieces pieces)
      : shape_(shape),
        arrays_(arrays),
        pieces_(pieces),
        tap_count_(shape.heads * shape.kernel),
        taps_((smaller(pieces.rows + reach_of(shape), shape.time)) * tap_count_),
        gradient_(tap_count_),
        rows_(shape.kernel),
        tap_of_(shape.kernel),
        zeros_(shape.channels) {
    zeros_.zero(shape.channels);
  }

  void run(int64_t n) {
    const auto [sequence, begin, end] = piece_of(shape_, pieces_, n);
    origin_ = sequence * shape_.time;
    // All positions that read an input of this piece, which include its own.
    first_ = larger<int64_t>(0, begin + shape_.left - reach_of(shape_));
    const int64_t last = smaller(shape_.time, end + shape_.left);
    for (int64_t t = first_; t < last; ++t) read_taps(shape_, arrays_.taps, origin_ + t, taps(t));
    for (int64_t t = begin; t < end; ++t) {
      if (arrays_.dx != nullptr) input_gradient(t);
      if (arrays_.dtaps != nullptr) taps_gradient(t);
    }
  }

 private:
  float* taps(int64_t t) const { return taps_.get() + (t - first_) * tap_count_; }

  // dx[t] = Σ_j taps[u][j] · dy[u], u = t + left − j · dilation the position that reads t by tap j
  void input_gradient(int64_t t) {
    Terms<T> terms{rows_.get(), tap_of_.get(), 0};
    for (int64_t j = 0; j < shape_.kernel; ++j) {
      const int64_t u = t + shape_.left - j * shape_.dilation;
      if (u < 0 || u >= shape_.time) continue;
      terms.add(row_of<T>(arrays_.dy, origin_ + u, shape_.channels), taps(u) + j);
    }
    weighted_sum(shape_, terms, row_of<T>(arrays_.dx, origin_ + t, shape_.channels));
  }

  void taps_gradient(int64_t t) {
    const Rows<T> x{row_of<T>(arrays_.x, origin_, shape_.channels), 0, shape_.time, shape_.channels,
                    zeros_.get()};
    for (int64_t j = 0; j < shape_.kernel; ++j) {
      rows_.get()[j] = x[t - shape_.left + j * shape_.dilation];
    }
    tap_gradient(shape_, row_of<T>(arrays_.dy, origin_ + t, shape_.channels), rows_.get(),
                 gradient_.get());
    if (arrays_.taps.softmax) {
      softmax_backward(taps(t), shape_.heads, shape_.kernel, gradient_.get());
    }
    with_type(arrays_.taps.type, [&](auto zero) {
      narrow(gradient_.get(), tap_count_,
             row_of<decltype(zero)>(arrays_.dtaps, origin_ + t, stride_of(shape_, arrays_.taps)));
    });
  }

  const ConvShape& shape_;
  const DynamicConvBackward& arrays_;
  Pieces pieces_;
  int64_t tap_count_;  // per position
  Buffer<float> taps_, gradient_;
  Buffer<const T*> rows_;
  Buffer<const float*> tap_of_;
  Buffer<T> zeros_;
  int64_t origin_ = 0;  // the sequence's first row
  int64_t first_ = 0;   // the first position that taps_ holds
};

// One step of one sequence. `terms` is empty.
template <class T>
void step_sequence(const ConvShape& shape, const float* taps, const T* x, int64_t position, T* ring,
                   Terms<T> terms, T* y) {
  const int64_t channels = shape.channels, reach = reach_of(shape);
  for (int64_t j = 0; j < shape.kernel - 1; ++j) {
    const int64_t slot = (position + j * shape.dilation) % reach;
    terms.add(ring + slot * channels, taps + j);
  }
  terms.add(x, taps + shape.kernel - 1);
  weighted_sum(shape, terms, y);
  if (reach > 0) {
    __builtin_memcpy(ring + position % reach * channels, x,
                     static_cast<size_t>(channels) * sizeof(T));
  }
}

template <class T>
void step_as(const ConvShape& shape, const ConvStep& arrays, Part part) {
  const int64_t channels = shape.channels;
  const Buffer<float> own(shape.heads * shape.kernel);
  const Buffer<const T*> rows(shape.kernel);
  const Buffer<const float*> tap_of(shape.kernel);
  for (int64_t b = part.begin; b < part.end; ++b) {
    const float* taps = arrays.static_taps;
    if (taps == nullptr) {
      read_taps(shape, arrays.dynamic_taps, b, own.get());
      taps = own.get();
    }
    step_sequence(shape, taps, row_of<T>(arrays.x, b, channels), arrays.position,
                  row_of<T>(arrays.ring, b * reach_of(shape), channels),
                  Terms<T>{rows.get(), tap_of.get(), 0}, row_of<T>(arrays.y, b, channels));
  }
}

// x is already gated.
void step_row(const ConvShape& shape, const ConvStepRow& arrays, const TermScratch& scratch) {
  const float* taps = arrays.static_taps;
  if (taps == nullptr) {
    read_taps(shape, arrays.dynamic_taps, 0, scratch.taps);
    taps = scratch.taps;
  }
  step_sequence(shape, taps, arrays.x, arrays.position, arrays.ring,
                Terms<float>{scratch.rows, scratch.tap_of, 0}, arrays.y);
}

void forward(const ConvShape& shape, const DynamicConvForward& arrays, Pieces pieces, Part part) {
  with_type(shape.type,
            [&](auto zero) { forward_as<decltype(zero)>(shape, arrays, pieces, part); });
}

void backward(const ConvShape& shape, const DynamicConvBackward& arrays, Pieces pieces, Part part) {
  with_type(shape.type, [&](auto zero) {
    DynamicBackward<decltype(zero)> work(shape, arrays, pieces);
    for (int64_t n = part.begin; n < part.end; ++n) work.run(n);
  });
}

void step(const ConvShape& shape, const ConvStep& arrays, Part part) {
  with_type(shape.type, [&](auto zero) { step_as<decltype(zero)>(shape, arrays, part); });
}

}  // namespace

extern const DynamicLoops kDynamicLoops;
const DynamicLoops kDynamicLoops = {
    .forward = forward, .backward = backward, .step = step, .rows = rows, .step_row = step_row};

}  // namespace convseq::kernels::CONVSEQ_LEVEL
