#include <immintrin.h>

#include "convseq/kernels/cpu/infer/matmul_levels.h"
#include "convseq/kernels/cpu/infer/matmul_tiles.h"

// The int8 matmul of AVX2 and of AVX-512 without VNNI: weights are widened to 16 bits, and vpmaddwd
// multiplies two inputs of each output.
namespace convseq::kernels::CONVSEQ_LEVEL {
namespace {

#if CONVSEQ_LANES == 16
using Ints = __m512i;
CONVSEQ_INLINE Ints zero() { return _mm512_setzero_si512(); }
CONVSEQ_INLINE Ints broadcast_pair(int32_t pair) { return _mm512_set1_epi32(pair); }
CONVSEQ_INLINE Ints widen(const int8_t* from) {
  return _mm512_cvtepi8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
}
CONVSEQ_INLINE Ints multiply_add(Ints sum, Ints x, Ints w) {
  return _mm512_add_epi32(sum, _mm512_madd_epi16(x, w));
}
constexpr int kRows = 12;
#else
using Ints = __m256i;
CONVSEQ_INLINE Ints zero() { return _mm256_setzero_si256(); }
CONVSEQ_INLINE Ints broadcast_pair(int32_t pair) { return _mm256_set1_epi32(pair); }
CONVSEQ_INLINE Ints widen(const int8_t* from) {
  return _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
}
CONVSEQ_INLINE Ints multiply_add(Ints sum, Ints x, Ints w) {
  return _mm256_add_epi32(sum, _mm256_madd_epi16(x, w));
}
constexpr int kRows = 6;
#endif

constexpr int kVectors = 2;  // of a panel
constexpr int kPanel = kVectors * kLanes;
constexpr int kWide = 2;  // panels for few rows
constexpr int kGroup = 2;

template <int R, int Panels>
[[gnu::noinline]] void tile(const MatmulTask& task, int64_t row, int64_t column) {
  const int64_t inputs = task.inputs;
  const auto* x = reinterpret_cast<const int16_t*>(task.rows) + row * inputs;
  const auto* w = reinterpret_cast<const int8_t*>(task.panels) + column * inputs;
  Ints sums[R][Panels * kVectors];
  unroll<R * Panels * kVectors>([&](auto i) CONVSEQ_LAMBDA {
    sums[i.kValue / (Panels * kVectors)][i.kValue % (Panels * kVectors)] = zero();
  });
  for (int64_t k = 0; k < inputs; k += kGroup) {
    Ints weights[Panels * kVectors];
    unroll<Panels * kVectors>([&](auto v) CONVSEQ_LAMBDA {
      weights[v.kValue] = widen(w + v.kValue / kVectors * kPanel * inputs + k * kPanel +
                                v.kValue % kVectors * kLanes * kGroup);
    });
    unroll<R>([&](auto r) CONVSEQ_LAMBDA {
      int32_t pair;
      __builtin_memcpy(&pair, x + r.kValue * inputs + k, sizeof pair);
      const Ints values = broadcast_pair(pair);
      unroll<Panels * kVectors>([&](auto v) CONVSEQ_LAMBDA {
        auto& sum = sums[r.kValue][v.kValue];
        sum = multiply_add(sum, values, weights[v.kValue]);
      });
    });
  }
  Floats<kLanes> floats[R][Panels * kVectors];
  unroll<R>([&](auto r) CONVSEQ_LAMBDA {
    unroll<Panels * kVectors>([&](auto v) CONVSEQ_LAMBDA {
      floats[r.kValue][v.kValue] = floats_of<kLanes>(sums[r.kValue][v.kValue]);
    });
  });
  write_scaled_tile<R, Panels * kVectors, kLanes>(task, row, R, column, floats);
}

void multiply(const MatmulTask& task) {
  for_tiles<kRows, kPanel, kWide>(
      task, task.inputs * 2, task.inputs,
      [&](auto rows, auto panels, int64_t row, int64_t column)
          CONVSEQ_LAMBDA { tile<rows.kValue, panels.kValue>(task, row, column); });
}

}  // namespace

const MatmulKernel kInt8MaddMatmul = {{.weight_bytes = 1,
                                       .panel = kPanel,
                                       .group = kGroup,
                                       .input_multiple = 8,
                                       .element = RowElement::Int16},
                                      multiply};

}  // namespace convseq::kernels::CONVSEQ_LEVEL
