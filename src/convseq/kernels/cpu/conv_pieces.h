#pragma once

#include "convseq/kernels/cpu/conv_loops.h"
#include "convseq/kernels/cpu/vector.h"

// What the loops over static and dynamic taps share; for files compiled once per CpuLevel.
namespace convseq::kernels::CONVSEQ_LEVEL {

CONVSEQ_INLINE int64_t reach_of(const ConvShape& shape) {
  return (shape.kernel - 1) * shape.dilation;
}

CONVSEQ_INLINE Pieces::Piece piece_of(const ConvShape& shape, Pieces pieces, int64_t n) {
  const int64_t begin = n % pieces.per_sequence * pieces.rows;
  return {.sequence = n / pieces.per_sequence,
          .begin = begin,
          .end = smaller(begin + pieces.rows, shape.time)};
}

CONVSEQ_INLINE int64_t length_of(const ConvShape& shape, const int64_t* lengths, int64_t sequence) {
  if (lengths == nullptr) return shape.time;
  return larger<int64_t>(0, smaller(lengths[sequence], shape.time));
}

template <class T>
CONVSEQ_INLINE const T* row_of(const void* array, int64_t row, int64_t width) {
  return static_cast<const T*>(array) + row * width;
}
template <class T>
CONVSEQ_INLINE T* row_of(void* array, int64_t row, int64_t width) {
  return static_cast<T*>(array) + row * width;
}

template <class T>
CONVSEQ_INLINE void zero_rows(T* first, int64_t rows, int64_t width) {
  if (rows > 0) __builtin_memset(first, 0, static_cast<size_t>(rows * width) * sizeof(T));
}

// Whether C values of a row fill whole cache lines.
template <class T>
CONVSEQ_INLINE bool fills_lines(const ConvShape& shape, const void* rows) {
  return shape.channels * int64_t{sizeof(T)} % kLine == 0 &&
         reinterpret_cast<uintptr_t>(rows) % kLine == 0;
}

// Whether a call writes its rows of C or 2C values with non-temporal stores. bf16 gained nothing
// from it.
template <class T>
CONVSEQ_INLINE bool is_streamed(const ConvShape& shape, const void* rows, int64_t width) {
  constexpr int64_t kSize = sizeof(T);
  return kCanStream && kSize == sizeof(float) &&
         shape.batch * shape.time * width * kSize >= kStreamedBytes && fills_lines<T>(shape, rows);
}

// Writes R rows, one block of channels after another. Where streamed, values are collected until
// they fill whole cache lines.
template <int R, class T>
class Output {
 public:
  explicit Output(bool streamed) : streamed_(streamed) {}

  template <int W>
  CONVSEQ_INLINE void write(T* to, int64_t stride, const Floats<W> (&rows)[R]) {
    if (kCanStream && W == kLanes && streamed_) {
      const int64_t at = W == kLength ? 0 : reinterpret_cast<uintptr_t>(to) % kLine / sizeof(T);
      for (int r = 0; r < R; ++r) store<W>(lines_[r] + at, rows[r]);
      if (at + W < kLength) return;
      for (int r = 0; r < R; ++r) {
        stream_line(reinterpret_cast<float*>(to - at + r * stride),
                    reinterpret_cast<const float*>(lines_[r]));
      }
    } else {
      for (int r = 0; r < R; ++r) store<W>(to + r * stride, rows[r]);
    }
  }

 private:
  static constexpr int64_t kLength = kLine / sizeof(T);
  alignas(kLine) T lines_[R][kLength];
  bool streamed_;
};

// The time steps [begin, end) of a sequence; steps outside read as zeros.
template <class T>
struct Rows {
  const T* first;
  int64_t begin, end, width;
  const T* zeros;

  CONVSEQ_INLINE const T* operator[](int64_t time) const {
    return time >= begin && time < end ? at(time) : zeros;
  }
  CONVSEQ_INLINE const T* at(int64_t time) const { return first + (time - begin) * width; }
  // The time steps `time`, time + step, ...
  CONVSEQ_INLINE void list(int64_t time, int64_t step, int64_t rows, const T** to) const {
    for (int64_t q = 0; q < rows; ++q) to[q] = (*this)[time + q * step];
  }
};

// The same for the last `slots` time steps before `end`: step t is in slot t mod `slots`.
struct RingRows {
  const float* slots;
  int64_t count, begin, end, width;
  const float* zeros;

  // As Rows::list(), for step < count.
  CONVSEQ_INLINE void list(int64_t time, int64_t step, int64_t rows, const float** to) const {
    int64_t slot = (time % count + count) % count;
    for (int64_t q = 0; q < rows; ++q, time += step) {
      to[q] = time >= begin && time < end ? slots + slot * width : zeros;
      slot += step;
      if (slot >= count) slot -= count;
    }
  }
};

template <class F>
CONVSEQ_INLINE void with_type(Type type, const F& f) {
  if (type == Type::Fp32) {
    f(float{});
  } else {
    f(Bf16{});
  }
}

}  // namespace convseq::kernels::CONVSEQ_LEVEL
