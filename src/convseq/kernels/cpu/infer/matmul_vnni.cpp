#include "convseq/kernels/cpu/infer/matmul_avx512_dot.h"

namespace convseq::kernels::CONVSEQ_LEVEL {
namespace {

// vpdpbusd multiplies unsigned inputs q + 128, so the sums begin at −128 Σ w.
struct Int8Dots {
  using Sums = __m512i;
  static constexpr int64_t kBytes = 1;
  static constexpr bool kScaled = true;
  CONVSEQ_INLINE static Sums start(const MatmulTask& task, int64_t column) {
    typedef int32_t Ints __attribute__((vector_size(64)));
    Ints sums;
    __builtin_memcpy(&sums, task.column_sums + column, sizeof sums);
    return bits_as<Sums>(-128 * sums);
  }
  CONVSEQ_INLINE static Sums multiply(Sums sum, __m512i x, __m512i w) {
    return _mm512_dpbusd_epi32(sum, x, w);
  }
  CONVSEQ_INLINE static Floats<16> to_floats(Sums sum) { return floats_of<16>(sum); }
};

}  // namespace

const MatmulKernel kInt8Matmul = {{.weight_bytes = 1,
                                   .panel = kDotPanel,
                                   .group = 4,
                                   .input_multiple = 8,
                                   .element = RowElement::Uint8},
                                  multiply_dots<Int8Dots>};

}  // namespace convseq::kernels::CONVSEQ_LEVEL
