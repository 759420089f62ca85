#include "convseq/kernels/cpu/infer/matmul_dots.h"

namespace convseq::kernels::CONVSEQ_LEVEL {
namespace {

struct Bf16Dots : FloatSums<16> {
  using Sums = __m512;
  static constexpr int64_t kBytes = 2;
  static constexpr int kRows = 12;  // of a tile
  CONVSEQ_INLINE static Sums start(const MatmulTask&, int64_t) { return _mm512_setzero_ps(); }
  CONVSEQ_INLINE static Sums multiply(Sums sum, __m512i x, __m512i w) {
    return _mm512_dpbf16_ps(sum, bits_as<__m512bh>(x), bits_as<__m512bh>(w));
  }
};

}  // namespace

const MatmulKernel kBf16Matmul = {{.weight_bytes = 2,
                                   .panel = kDotPanel,
                                   .group = 2,
                                   .input_multiple = kDotSteps * 2,
                                   .element = RowElement::Bf16},
                                  multiply_dots<Bf16Dots>,
                                  {"vdpbf16ps", kLoopSums * 64, repeat_dots<Bf16Dots>}};

}  // namespace convseq::kernels::CONVSEQ_LEVEL
