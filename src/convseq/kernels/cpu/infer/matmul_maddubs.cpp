#include "convseq/kernels/cpu/infer/matmul_dots.h"

// The int8 matmul of AVX2 and of AVX-512 without VNNI. vpmaddubsw adds the products of two inputs
// in 16 bits, where they overflow unless the two weights are small enough together.
namespace convseq::kernels::CONVSEQ_LEVEL {
namespace {

// In this order: products that wait, or are added to each other first, fill the registers.
struct Int8Pairs : UnsignedRowSums {
  static constexpr int kRows = kLanes == 16 ? 12 : 5;  // of a tile
  CONVSEQ_INLINE static Sums multiply(Sums sum, DotValues x, DotValues w) {
#if CONVSEQ_LANES == 16
    DotValues pairs = _mm512_maddubs_epi16(x, w);
    asm volatile("" : "+v"(pairs));
    sum += (Sums)_mm512_madd_epi16(pairs, _mm512_set1_epi16(1));
#else
    DotValues pairs = _mm256_maddubs_epi16(x, w);
    asm volatile("" : "+v"(pairs));
    sum += (Sums)_mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
#endif
    asm volatile("" : "+v"(sum));
    return sum;
  }
};

constexpr MatmulFormat format() {
  MatmulFormat format = kUnsignedRowFormat;
  format.largest_pair = 128;  // 255 · 128 < 2^15
  return format;
}

}  // namespace

const MatmulKernel kInt8PairMatmul = {
    format(),
    multiply_dots<Int8Pairs>,
    {"vpmaddubsw", kLoopSums* kLanes * 8, repeat_dots<Int8Pairs>}};

}  // namespace convseq::kernels::CONVSEQ_LEVEL
