#pragma once

#include <immintrin.h>

#include "convseq/kernels/cpu/infer/instruction_loop.h"
#include "convseq/kernels/cpu/infer/matmul_levels.h"
#include "convseq/kernels/cpu/infer/matmul_tiles.h"

// Matmuls of x86 that multiply four bytes of the inputs of each output at once: int8 with
// vpdpbusd, or without it vpmaddubsw; bf16 with vdpbf16ps.
namespace convseq::kernels::CONVSEQ_LEVEL {

#if CONVSEQ_LANES == 16
using DotValues = __m512i;
CONVSEQ_INLINE DotValues load_dots(const std::byte* from) { return _mm512_loadu_si512(from); }
CONVSEQ_INLINE DotValues broadcast_dots(int32_t four) { return _mm512_set1_epi32(four); }
#else
using DotValues = __m256i;
CONVSEQ_INLINE DotValues load_dots(const std::byte* from) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
}
CONVSEQ_INLINE DotValues broadcast_dots(int32_t four) { return _mm256_set1_epi32(four); }
#endif

inline constexpr int kDotVectors = 2;                  // of a panel
inline constexpr int kDotWide = kLanes == 16 ? 4 : 2;  // panels for few rows
inline constexpr int kDotPanel = kLanes * kDotVectors;
inline constexpr int64_t kDotBytes = 4;  // of a row or of an output, per instruction
inline constexpr int kDotSteps = 4;      // of the loop over the inputs at once

// Sums of unsigned rows, q + 128.
struct UnsignedRowSums : IntSums<kLanes> {
  typedef int32_t Sums __attribute__((vector_size(4 * kLanes)));
  static constexpr int64_t kBytes = 1;
  CONVSEQ_INLINE static Sums start(const MatmulTask& task, int64_t column) {
    Sums sums;
    __builtin_memcpy(&sums, task.column_starts + column, sizeof sums);
    return sums;
  }
};
inline constexpr MatmulFormat kUnsignedRowFormat = {.weight_bytes = 1,
                                                    .panel = kDotPanel,
                                                    .group = 4,
                                                    .input_multiple = kDotSteps * 4,
                                                    .element = RowElement::Uint8};

// The lines of the output of a tile, R rows of Columns, fetched for writing one row per step: the
// stores would wait until the lines are read, and the loads of the tile if all of them were asked
// for at once.
template <int R, int Columns>
class OutputPrefetch {
 public:
  CONVSEQ_INLINE OutputPrefetch(const MatmulTask& task, int64_t row, int64_t column)
      : at_(task.output.data + row * task.output.stride + column),
        stride_(task.output.stride),
        rows_left_(column + Columns <= task.columns.end ? R : 0) {}

  CONVSEQ_INLINE void fetch_row() {
    if (rows_left_ == 0) return;
    unroll<(Columns + kLineFloats - 1) / kLineFloats>([&](auto i) CONVSEQ_LAMBDA {
      __builtin_prefetch(at_ + i.kValue * kLineFloats, /*rw=*/1, /*locality=*/3);
    });
    at_ += stride_;
    --rows_left_;
  }

 private:
  static constexpr int kLineFloats = kLine / int64_t{sizeof(float)};
  const float* at_;
  int64_t stride_;
  int rows_left_;
};

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
        Type::start(task, column + i.kValue % kVectors * kLanes);
  });
  const auto weights_at = [&](int vector, int64_t k) CONVSEQ_LAMBDA {
    return w + (vector / kDotVectors * weight_bytes + k) * kDotPanel +
           vector % kDotVectors * int64_t{sizeof(DotValues)};
  };
  OutputPrefetch<R, kVectors * kLanes> output(task, row, column);
  for_steps<kDotSteps * kDotBytes>(weight_bytes, prefetch, [&](int64_t k) CONVSEQ_LAMBDA {
    output.fetch_row();
    x.template for_steps<int32_t, kDotSteps>(k, [&](auto n, const auto& values) CONVSEQ_LAMBDA {
      DotValues weights[kVectors];
      unroll<kVectors>([&](auto v) CONVSEQ_LAMBDA {
        const std::byte* at = weights_at(v.kValue, k + n.kValue * kDotBytes);
        weights[v.kValue] = load_dots(at);
        if (begins_line<std::byte>(v.kValue * int{sizeof(DotValues)})) {
          __builtin_prefetch(at + kStepsAhead * kDotBytes * kDotPanel);
        }
      });
      values([&](auto r, int32_t four) CONVSEQ_LAMBDA {
        const DotValues value = broadcast_dots(four);
        unroll<kVectors>([&](auto v) CONVSEQ_LAMBDA {
          auto& sum = sums[r.kValue][v.kValue];
          sum = Type::multiply(sum, value, weights[v.kValue]);
        });
      });
    });
  });
  write_sums<Type, R, kVectors, kLanes>(task, row, R, column, sums);
}

template <class Type>
float repeat_dots(int64_t times) {
  return repeat_multiply<typename Type::Sums, DotValues>(times, Type::multiply);
}

template <class Type>
void multiply_dots(const MatmulTask& task) {
  for_tiles<Type::kRows, kDotPanel, kDotWide, kDotSteps * kDotBytes / Type::kBytes>(
      task, task.inputs * Type::kBytes, task.inputs * Type::kBytes,
      [&](auto rows, auto panels, int64_t row, int64_t column, WeightPrefetch& prefetch)
          CONVSEQ_LAMBDA {
            dot_tile<Type, rows.kValue, panels.kValue>(task, row, column, prefetch);
          });
}

}  // namespace convseq::kernels::CONVSEQ_LEVEL
