#pragma once

#include <immintrin.h>

#include "convseq/kernels/cpu/infer/instruction_loop.h"
#include "convseq/kernels/cpu/infer/matmul_levels.h"
#include "convseq/kernels/cpu/infer/matmul_tiles.h"

// Matmuls with the AVX-512 instructions that multiply four bytes of inputs of 16 outputs: vpdpbusd
// for int8, vdpbf16ps for bf16.
namespace convseq::kernels::CONVSEQ_LEVEL {

inline constexpr int kDotVectors = 2;  // of a panel
inline constexpr int kDotPanel = 16 * kDotVectors;
inline constexpr int64_t kDotBytes = 4;  // of a row or of an output, per instruction
inline constexpr int kDotSteps = 4;      // of the loop over the inputs at once

// Type: the sums, the instruction, and the epilogue.
template <class Type, int R, int Panels>
[[gnu::noinline]] void dot_tile(const MatmulTask& task, int64_t row, int64_t column,
                                WeightPrefetch& prefetch) {
  constexpr int kVectors = Panels * kDotVectors;
  const int64_t weight_bytes = task.inputs * Type::kBytes,
                row_bytes = task.row_stride * Type::kBytes;
  const RowPairs<R> x(task.rows + row * row_bytes, row_bytes);
  const std::byte* w = task.panels + column * weight_bytes;
  typename Type::Sums sums[R][kVectors];
  unroll<R * kVectors>([&](auto i) CONVSEQ_LAMBDA {
    sums[i.kValue / kVectors][i.kValue % kVectors] =
        Type::start(task, column + i.kValue % kVectors * 16);
  });
  const auto weights_at = [&](int vector, int64_t k) CONVSEQ_LAMBDA {
    return w + (vector / kDotVectors * weight_bytes + k) * kDotPanel + vector % kDotVectors * 64;
  };
  for_steps<kDotSteps * kDotBytes>(weight_bytes, prefetch, [&](int64_t k) CONVSEQ_LAMBDA {
    x.template for_steps<int32_t, kDotSteps>(k, [&](auto n, const auto& values) CONVSEQ_LAMBDA {
      __m512i weights[kVectors];
      unroll<kVectors>([&](auto v) CONVSEQ_LAMBDA {
        const std::byte* at = weights_at(v.kValue, k + n.kValue * kDotBytes);
        weights[v.kValue] = _mm512_loadu_si512(at);
        __builtin_prefetch(at + kStepsAhead * kDotBytes * kDotPanel);
      });
      values([&](auto r, int32_t four) CONVSEQ_LAMBDA {
        const __m512i value = _mm512_set1_epi32(four);
        unroll<kVectors>([&](auto v) CONVSEQ_LAMBDA {
          auto& sum = sums[r.kValue][v.kValue];
          sum = Type::multiply(sum, value, weights[v.kValue]);
        });
      });
    });
  });
  write_sums<Type, R, kVectors, 16>(task, row, R, column, sums);
}

template <class Type>
float repeat_dots(int64_t times) {
  return repeat_multiply<typename Type::Sums, __m512i>(times, Type::multiply);
}

template <class Type>
void multiply_dots(const MatmulTask& task) {
  constexpr int kRows = 12, kWide = 4;
  for_tiles<kRows, kDotPanel, kWide, kDotSteps * kDotBytes / Type::kBytes>(
      task, task.inputs * Type::kBytes, task.inputs * Type::kBytes,
      [&](auto rows, auto panels, int64_t row, int64_t column, WeightPrefetch& prefetch)
          CONVSEQ_LAMBDA {
            dot_tile<Type, rows.kValue, panels.kValue>(task, row, column, prefetch);
          });
}

}  // namespace convseq::kernels::CONVSEQ_LEVEL
