#include "convseq/kernels/cpu/infer/matmul_avx512_dot.h"

namespace convseq::kernels::CONVSEQ_LEVEL {
namespace {

// vpdpbusd multiplies unsigned inputs, q + 128.
struct Int8Dots : IntSums<16> {
  typedef int32_t Sums __attribute__((vector_size(64)));
  static constexpr int64_t kBytes = 1;
  CONVSEQ_INLINE static Sums start(const MatmulTask& task, int64_t column) {
    Sums sums;
    __builtin_memcpy(&sums, task.column_starts + column, sizeof sums);
    return sums;
  }
  CONVSEQ_INLINE static Sums multiply(Sums sum, __m512i x, __m512i w) {
    return (Sums)_mm512_dpbusd_epi32((__m512i)sum, x, w);
  }
};

}  // namespace

const MatmulKernel kInt8Matmul = {{.weight_bytes = 1,
                                   .panel = kDotPanel,
                                   .group = 4,
                                   .input_multiple = kDotSteps * 4,
                                   .element = RowElement::Uint8},
                                  multiply_dots<Int8Dots>,
                                  {"vpdpbusd", kLoopSums * 128, repeat_dots<Int8Dots>}};

}  // namespace convseq::kernels::CONVSEQ_LEVEL
