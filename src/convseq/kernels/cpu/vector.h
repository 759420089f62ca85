#pragma once

#include <cstdint>

#ifdef __x86_64__
#include <immintrin.h>
#else
#include <arm_neon.h>
#endif

// Vectors of W floats for the loops: the compiler's own vector types, which become NEON, SSE, AVX2
// or AVX-512 by the flags of the file that includes this. Such a file is compiled once per
// CpuLevel, with CONVSEQ_LEVEL, the namespace of all that it defines, and CONVSEQ_LANES. It must
// not use inline functions from elsewhere: the linker keeps one copy, possibly one that this
// machine cannot run.
namespace convseq::kernels::CONVSEQ_LEVEL {

#define CONVSEQ_INLINE [[gnu::always_inline]] inline
#define CONVSEQ_LAMBDA __attribute__((always_inline))  // after the parameters of a lambda

inline constexpr int kLanes = CONVSEQ_LANES;

template <int N>
struct Number {
  static constexpr int kValue = N;
};

template <int W>
struct VectorTypes {
  typedef float Floats __attribute__((vector_size(4 * W)));
  typedef uint32_t Words __attribute__((vector_size(4 * W)));
  typedef uint16_t Halves __attribute__((vector_size(2 * W)));
};
template <int W>
using Floats = typename VectorTypes<W>::Floats;
template <int W>
using Words = typename VectorTypes<W>::Words;
template <int W>
using Halves = typename VectorTypes<W>::Halves;

struct Bf16 {  // the upper half of a float
  uint16_t bits;
};

template <class To, class From>
CONVSEQ_INLINE To bits_as(const From& from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  __builtin_memcpy(&to, &from, sizeof to);
  return to;
}

template <int W>
CONVSEQ_INLINE Floats<W> load(const float* from) {
  Floats<W> values;
  __builtin_memcpy(&values, from, sizeof values);
  return values;
}

template <int W>
CONVSEQ_INLINE Floats<W> load(const Bf16* from) {
  Halves<W> halves;
  __builtin_memcpy(&halves, from, sizeof halves);
  return bits_as<Floats<W>>(__builtin_convertvector(halves, Words<W>) << 16);
}

template <int W>
CONVSEQ_INLINE void store(float* to, Floats<W> values) {
  __builtin_memcpy(to, &values, sizeof values);
}

template <int W>
CONVSEQ_INLINE void store(Bf16* to, Floats<W> values) {
  const auto bits = bits_as<Words<W>>(values);
  // Round to nearest, ties to even: add half of the last kept bit, minus one where that bit is
  // even. NaN stays NaN: the addition could carry it into infinity.
  const Words<W> rounded = bits + 0x7fff + ((bits >> 16) & 1), quiet = bits | 0x400000;
  const Words<W> chosen = values == values ? rounded : quiet;
  const auto halves = __builtin_convertvector(chosen >> 16, Halves<W>);
  __builtin_memcpy(to, &halves, sizeof halves);
}

inline constexpr int64_t kLine = 64;  // bytes of a cache line

// Whether the value at `index` is the first of a cache line, the unit of prefetches.
template <class T>
CONVSEQ_INLINE bool begins_line(int64_t index) {
  return index % (kLine / static_cast<int64_t>(sizeof(T))) == 0;
}

#ifdef __x86_64__
inline constexpr bool kCanStream = true;
#else
inline constexpr bool kCanStream = false;
#endif

// Writes one aligned cache line with non-temporal stores, which do not read it first. Only whole
// lines: parts of a line with other stores in between go to memory one by one, several times
// slower.
CONVSEQ_INLINE void stream_line(float* to, const float* from) {
  for (int64_t i = 0; i < kLine / 4; i += kLanes) {
    const auto values = load<kLanes>(from + i);
#if CONVSEQ_LANES == 16
    _mm512_stream_ps(to + i, values);
#elif CONVSEQ_LANES == 8
    _mm256_stream_ps(to + i, values);
#elif defined(__x86_64__)
    _mm_stream_ps(to + i, values);
#else
    store<kLanes>(to + i, values);
#endif
  }
}

// Orders the non-temporal stores before all later stores.
CONVSEQ_INLINE void fence_streams() {
#ifdef __x86_64__
  _mm_sfence();
#endif
}

template <int W>
CONVSEQ_INLINE Floats<W> broadcast(float value) {
  return value - Floats<W>{};  // minus zero: keeps the sign of a zero
}

// The same value, of which the compiler knows nothing.
template <int W>
CONVSEQ_INLINE Floats<W> opaque(Floats<W> value) {
#ifdef __x86_64__
  asm("" : "+x"(value));
#else
  asm("" : "+w"(value));
#endif
  return value;
}

template <int W>
struct TwoHalves {
  Floats<W / 2> low, high;
};

// The sum of a vector's lanes, halves first: the same order everywhere.
template <int W>
CONVSEQ_INLINE float sum_of(Floats<W> values) {
  if constexpr (W == 1) {
    return values[0];
  } else {
    const auto halves = bits_as<TwoHalves<W>>(values);
    return sum_of<W / 2>(halves.low + halves.high);
  }
}

// a · b + c, rounded once where the instruction set has fused multiply-adds.
template <int W>
CONVSEQ_INLINE Floats<W> fma(Floats<W> a, Floats<W> b, Floats<W> c) {
#if defined(__aarch64__) || defined(__FMA__)
  if constexpr (W == 1) {
    return Floats<1>{__builtin_fmaf(a[0], b[0], c[0])};
#ifdef __aarch64__
  } else if constexpr (W == 4) {
    return bits_as<Floats<W>>(
        vfmaq_f32(bits_as<float32x4_t>(c), bits_as<float32x4_t>(a), bits_as<float32x4_t>(b)));
#else
  } else if constexpr (W == 4) {
    return _mm_fmadd_ps(a, b, c);
  } else if constexpr (W == 8) {
    return _mm256_fmadd_ps(a, b, c);
#endif
#ifdef __AVX512F__
  } else if constexpr (W == 16) {
    return _mm512_fmadd_ps(a, b, c);
#endif
  } else {
    const auto x = bits_as<TwoHalves<W>>(a), y = bits_as<TwoHalves<W>>(b),
               z = bits_as<TwoHalves<W>>(c);
    return bits_as<Floats<W>>(
        TwoHalves<W>{fma<W / 2>(x.low, y.low, z.low), fma<W / 2>(x.high, y.high, z.high)});
  }
#else
  return a * b + c;
#endif
}
template <int W>
CONVSEQ_INLINE Floats<W> fma(Floats<W> a, Floats<W> b, float c) {
  return fma<W>(a, b, broadcast<W>(c));
}
template <int W>
CONVSEQ_INLINE Floats<W> fma(Floats<W> a, float b, Floats<W> c) {
  return fma<W>(a, broadcast<W>(b), c);
}
template <int W>
CONVSEQ_INLINE Floats<W> fma(Floats<W> a, float b, float c) {
  return fma<W>(a, broadcast<W>(b), broadcast<W>(c));
}

// x within [low, high]; NaN stays NaN. Clang compiles comparisons to two instructions each on Arm.
template <int W>
CONVSEQ_INLINE Floats<W> clamp(Floats<W> x, float low, float high) {
#ifdef __aarch64__
  if constexpr (W == 4) {
    const auto raised = vmaxq_f32(bits_as<float32x4_t>(x), vdupq_n_f32(low));
    return bits_as<Floats<W>>(vminq_f32(raised, vdupq_n_f32(high)));
  } else if constexpr (W > 4) {
    const auto halves = bits_as<TwoHalves<W>>(x);
    return bits_as<Floats<W>>(
        TwoHalves<W>{clamp<W / 2>(halves.low, low, high), clamp<W / 2>(halves.high, low, high)});
  }
#endif
  x = x < low ? broadcast<W>(low) : x;
  return x > high ? broadcast<W>(high) : x;
}

// e^x = 2^n e^r, |r| ≤ ln 2 / 2; e^r by its series up to r^7 (the next term is under 6e-9).
template <int W>
CONVSEQ_INLINE Floats<W> exp(Floats<W> x) {
  x = clamp<W>(x, -87, 88);  // where 2^n is a normal float
  // Adding 1.5 · 2^23 leaves the nearest whole number in the low bits.
  const Floats<W> shifted = fma<W>(x, 1.44269504F, 12582912.0F);
  const Floats<W> n = shifted - 12582912.0F;
  const Floats<W> r = fma<W>(n, 2.12194440e-4F, fma<W>(n, -0.693359375F, x));  // ln 2 in two parts
  Floats<W> sum = broadcast<W>(1.0F / 5040);
  sum = fma<W>(sum, r, 1.0F / 720);
  sum = fma<W>(sum, r, 1.0F / 120);
  sum = fma<W>(sum, r, 1.0F / 24);
  sum = fma<W>(sum, r, 1.0F / 6);
  sum = fma<W>(sum, r, 0.5F);
  sum = fma<W>(sum, r, 1.0F);
  sum = fma<W>(sum, r, 1.0F);
  const auto exponent = bits_as<Words<W>>(shifted) << 23;
  return bits_as<Floats<W>>(bits_as<Words<W>>(sum) + exponent);
}

// Vectors whose sigmoids are computed in lockstep: one at a time, an Arm core waits for the long
// chain of each. Only clang keeps wider vectors than the machine's in registers.
#if defined(__aarch64__) && defined(__clang__)
inline constexpr int kLockstep = 4;
#else
inline constexpr int kLockstep = 1;
#endif

// f of all vectors, kLockstep of them as one vector.
template <int W, int N, class F>
CONVSEQ_INLINE void in_lockstep(Floats<W> (&x)[N], const F& f) {
  constexpr int kVectors = W == kLanes && N % kLockstep == 0 ? kLockstep : 1;
  for (int n = 0; n < N; n += kVectors) {
    Floats<kVectors * W> wide;
    __builtin_memcpy(&wide, x + n, sizeof wide);
    wide = f(Number<kVectors * W>{}, wide);
    __builtin_memcpy(x + n, &wide, sizeof wide);
  }
}

// f(Number<0>), f(Number<1>), ... f(Number<N - 1>), unrolled: arrays indexed by them are registers.
template <int N, class F>
CONVSEQ_INLINE void unroll(const F& f) {
  if constexpr (N > 0) {
    unroll<N - 1>(f);
    f(Number<N - 1>{});
  }
}

// f(width, c) over the channels of [begin, end): whole vectors, then fours, then one by one. No
// array is read or written beyond its end, and no lane is computed twice.
template <class F>
CONVSEQ_INLINE void for_blocks(int64_t begin, int64_t end, const F& f) {
  int64_t c = begin;
  for (; c + kLanes <= end; c += kLanes) f(Number<kLanes>{}, c);
  if constexpr (kLanes > 4) {
    for (; c + 4 <= end; c += 4) f(Number<4>{}, c);
  }
  for (; c < end; ++c) f(Number<1>{}, c);
}

// f(number of vectors, width, c): as for_blocks, but first V vectors at a time.
template <int V, class F>
CONVSEQ_INLINE void for_vectors(int64_t begin, int64_t end, const F& f) {
  int64_t c = begin;
  for (; c + V * kLanes <= end; c += V * kLanes) f(Number<V>{}, Number<kLanes>{}, c);
  for_blocks(c, end, [&](auto width, int64_t at) { f(Number<1>{}, width, at); });
}

template <class T>
CONVSEQ_INLINE constexpr T smaller(T a, T b) {
  return b < a ? b : a;
}
template <class T>
CONVSEQ_INLINE constexpr T larger(T a, T b) {
  return a < b ? b : a;
}

// Memory for the duration of a call.
template <class T>
class Buffer {
 public:
  explicit Buffer(int64_t size)  // T may be a pointer: NOLINTNEXTLINE(bugprone-sizeof-expression)
      : data_(static_cast<T*>(::operator new(static_cast<size_t>(size + 1) * sizeof(T)))) {}
  Buffer(const Buffer&) = delete;
  ~Buffer() { ::operator delete(data_); }
  T* get() const { return data_; }

  T* zero(int64_t size) const {
    __builtin_memset(data_, 0, static_cast<size_t>(size) * sizeof(T));
    return data_;
  }

 private:
  T* data_;
};

}  // namespace convseq::kernels::CONVSEQ_LEVEL
