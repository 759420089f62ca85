#include "convseq/kernels/cpu/infer/matmul_dots.h"

// The int8 matmul of AVX-512 VNNI and of AVX-VNNI.
namespace convseq::kernels::CONVSEQ_LEVEL {
namespace {

struct Int8Dots : UnsignedRowSums {
  static constexpr int kRows = kLanes == 16 ? 12 : 6;  // of a tile
  CONVSEQ_INLINE static Sums multiply(Sums sum, DotValues x, DotValues w) {
#if CONVSEQ_LANES == 16
    return (Sums)_mm512_dpbusd_epi32((__m512i)sum, x, w);
#else
    return (Sums)_mm256_dpbusd_avx_epi32((__m256i)sum, x, w);
#endif
  }
};

}  // namespace

const MatmulKernel kInt8Matmul = {kUnsignedRowFormat,
                                  multiply_dots<Int8Dots>,
                                  {"vpdpbusd", kLoopSums* kLanes * 8, repeat_dots<Int8Dots>}};

}  // namespace convseq::kernels::CONVSEQ_LEVEL
