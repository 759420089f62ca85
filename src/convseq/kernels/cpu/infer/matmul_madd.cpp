#include <immintrin.h>

#include "convseq/kernels/cpu/infer/instruction_loop.h"
#include "convseq/kernels/cpu/infer/matmul_levels.h"
#include "convseq/kernels/cpu/infer/matmul_tiles.h"

// The int8 matmul of AVX2 and of AVX-512 without VNNI: weights are widened to 16 bits, and vpmaddwd
// multiplies two inputs of each output.
namespace convseq::kernels::CONVSEQ_LEVEL {
namespace {

typedef int32_t Ints __attribute__((vector_size(4 * kLanes)));

#if CONVSEQ_LANES == 16
CONVSEQ_INLINE Ints widen(const int8_t* from) {
  return (Ints)_mm512_cvtepi8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
}
CONVSEQ_INLINE Ints multiply(Ints x, Ints w) {
  return (Ints)_mm512_madd_epi16((__m512i)x, (__m512i)w);
}
constexpr int kRows = 12;
#else
CONVSEQ_INLINE Ints widen(const int8_t* from) {
  return (Ints)_mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
}
CONVSEQ_INLINE Ints multiply(Ints x, Ints w) {
  return (Ints)_mm256_madd_epi16((__m256i)x, (__m256i)w);
}
constexpr int kRows = 6;
#endif

constexpr int kVectors = 2;  // of a panel
constexpr int kPanel = kVectors * kLanes;
constexpr int kWide = 2;  // panels for few rows
constexpr int kGroup = 2;
constexpr int kSteps = 4;  // of the loop over the inputs at once

template <int R, int Panels>
[[gnu::noinline]] void tile(const MatmulTask& task, int64_t row, int64_t column,
                            WeightPrefetch& prefetch) {
  const int64_t inputs = task.inputs;
  const RowPairs<R> x(reinterpret_cast<const int16_t*>(task.rows) + row * task.row_stride,
                      task.row_stride * int64_t{sizeof(int16_t)});
  const auto* w = reinterpret_cast<const int8_t*>(task.panels) + column * inputs;
  Ints sums[R][Panels * kVectors] = {};
  for_steps<kSteps * kGroup>(inputs, prefetch, [&](int64_t k) CONVSEQ_LAMBDA {
    x.template for_steps<int32_t, kSteps>(2 * k, [&](auto n, const auto& pairs) CONVSEQ_LAMBDA {
      Ints weights[Panels * kVectors];
      unroll<Panels * kVectors>([&](auto v) CONVSEQ_LAMBDA {
        weights[v.kValue] =
            widen(w + (v.kValue / kVectors * inputs + k + n.kValue * kGroup) * kPanel +
                  v.kValue % kVectors * kLanes * kGroup);
      });
      pairs([&](auto r, int32_t pair) CONVSEQ_LAMBDA {
        const Ints values = pair - Ints{};
        unroll<Panels * kVectors>([&](auto v) CONVSEQ_LAMBDA {
          sums[r.kValue][v.kValue] += multiply(values, weights[v.kValue]);
        });
      });
    });
  });
  write_sums<IntSums<kLanes>, R, Panels * kVectors, kLanes>(task, row, R, column, sums);
}

void multiply_pairs(const MatmulTask& task) {
  for_tiles<kRows, kPanel, kWide, kSteps * kGroup>(
      task, task.inputs * 2, task.inputs,
      [&](auto rows, auto panels, int64_t row, int64_t column, WeightPrefetch& prefetch)
          CONVSEQ_LAMBDA { tile<rows.kValue, panels.kValue>(task, row, column, prefetch); });
}

// Unsigned, because the sums overflow.
float repeat(int64_t times) {
  typedef uint32_t Bits __attribute__((vector_size(4 * kLanes)));
  return repeat_multiply<Bits, Ints>(times, [](Bits sum, Ints x, Ints w) CONVSEQ_LAMBDA {
    return sum + bits_as<Bits>(multiply(x, w));
  });
}

}  // namespace

const MatmulKernel kInt8MaddMatmul = {{.weight_bytes = 1,
                                       .panel = kPanel,
                                       .group = kGroup,
                                       .input_multiple = 8,
                                       .element = RowElement::Int16},
                                      multiply_pairs,
                                      {"vpmaddwd", kLoopSums* kLanes * 4, repeat}};

}  // namespace convseq::kernels::CONVSEQ_LEVEL
