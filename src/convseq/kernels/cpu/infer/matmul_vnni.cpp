#include "convseq/kernels/cpu/infer/matmul_dots.h"

namespace convseq::kernels::CONVSEQ_LEVEL {
namespace {

struct Int8Dots : UnsignedRowSums {
  CONVSEQ_INLINE static Sums multiply(Sums sum, DotValues x, DotValues w) {
    return (Sums)_mm512_dpbusd_epi32((__m512i)sum, x, w);
  }
};

}  // namespace

const MatmulKernel kInt8Matmul = {kUnsignedRowFormat,
                                  multiply_dots<Int8Dots>,
                                  {"vpdpbusd", kLoopSums* kLanes * 8, repeat_dots<Int8Dots>}};

}  // namespace convseq::kernels::CONVSEQ_LEVEL
