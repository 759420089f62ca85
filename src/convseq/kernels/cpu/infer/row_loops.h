#pragma once

#include "convseq/kernels/attention_rows.h"
#include "convseq/kernels/cpu/infer/matmul_kernel.h"

// The loops of row_ops.h and attention_rows.h, compiled once per width of vectors.
namespace convseq::kernels {

struct RowLoops {
  // `count` values to row `row` of the buffer.
  void (*pack)(const RowBuffer& to, int64_t row, const float* x, int64_t count);
  void (*glu)(const float* x, const float* gate, int64_t count, float* y);
  void (*gated_gelu)(const float* gate, const float* x, int64_t count, float* y);
  // norm(x), plus the residual where there is one.
  void (*norm)(const float* x, const NormParameters& norm, const float* residual, int64_t count,
               float* y);
  void (*mean)(const FloatRows& x, int64_t rows, int64_t channels, float* out);
  LikeliestToken (*likeliest)(const float* logits, int64_t count);
  float (*log_sum_exp)(const float* logits, int64_t count);
};

struct AttentionLoops {
  // `scores` has room for kAttentionQueries rows, one value per key.
  void (*attend)(const SequenceAttention& attention, RowRange heads, RowRange queries,
                 float* scores);
};

inline constexpr int64_t kAttentionQueries = 4;  // computed together

#define CONVSEQ_DECLARE_LOOPS(level)           \
  namespace level {                            \
  extern const RowLoops kRowLoops;             \
  extern const AttentionLoops kAttentionLoops; \
  }
CONVSEQ_DECLARE_LOOPS(baseline)
#ifdef __x86_64__
CONVSEQ_DECLARE_LOOPS(avx2)
CONVSEQ_DECLARE_LOOPS(avx512)
#endif
#undef CONVSEQ_DECLARE_LOOPS

}  // namespace convseq::kernels
