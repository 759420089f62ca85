#pragma once

#include "convseq/kernels/packed_matmul.h"

// What stands between the matmuls of inference on a CPU: each op computes fp32 rows and packs them
// for the next matmul, so that quantisation does not pass over them again. A row's result depends
// on that row alone. Threads may pack disjoint ranges of the same rows.
namespace convseq::kernels {

struct FloatRows {
  const float* data = nullptr;
  int64_t stride = 0;  // values from one row to the next
};

struct RowRange {
  int64_t begin = 0, end = 0;
};
inline RowRange all_rows(const PackedRows& rows) { return {0, rows.shape.rows}; }

// x → packed. Here and below, row r of the inputs becomes row r of `packed`, for r in the range.
void pack_rows(const FloatRows& x, const PackedRows& packed, RowRange range);
// x ⊙ sigmoid(gate)
void glu_pack_rows(const FloatRows& x, const FloatRows& gate, const PackedRows& packed,
                   RowRange range);
// gelu(gate) ⊙ x, with the tanh approximation of GELU
void gated_gelu_pack_rows(const FloatRows& gate, const FloatRows& x, const PackedRows& packed,
                          RowRange range);

// LayerNorm where there is a bias, RMSNorm otherwise.
struct NormParameters {
  const float* weight = nullptr;  // [channels]
  const float* bias = nullptr;    // [channels]
  float eps = 1e-6F;
};

// y = norm(x) + residual, to fp32 rows, to packed rows, or to both.
struct NormRows {
  FloatRows x = {};
  int64_t channels = 0;
  NormParameters norm = {};
  FloatRows residual = {};               // null: none
  float* out = nullptr;                  // may be the residual or x; null: not wanted
  int64_t out_stride = 0;                // of `out`
  PackedRows packed = {};                // without data: not wanted
  CpuLevel level = default_cpu_level();  // that of `packed` where there is one
};
void norm_rows(const NormRows& rows, RowRange range);

// out[c] = mean over the rows of x, [channels]
void mean_rows(const FloatRows& x, int64_t rows, int64_t channels, float* out, CpuLevel level);

// The likeliest of `count` logits, the lowest index where several are, and its log-probability.
struct LikeliestToken {
  int64_t id = 0;
  float log_probability = 0;
};
LikeliestToken likeliest_token(const float* logits, int64_t count, CpuLevel level);
float log_sum_exp(const float* logits, int64_t count, CpuLevel level);

}  // namespace convseq::kernels
