#include "convseq/kernels/row_ops.h"

#include <vector>

#include "convseq/kernels/attention_rows.h"
#include "convseq/kernels/cpu/infer/row_loops.h"

namespace convseq::kernels {
namespace {

const RowLoops& row_loops(CpuLevel level) {
#ifdef __x86_64__
  if (level >= CpuLevel::Avx512) return avx512::kRowLoops;
  if (level >= CpuLevel::Avx2) return avx2::kRowLoops;
#endif
  static_cast<void>(level);
  return baseline::kRowLoops;
}

const AttentionLoops& attention_loops(CpuLevel level) {
#ifdef __x86_64__
  if (level >= CpuLevel::Avx512) return avx512::kAttentionLoops;
  if (level >= CpuLevel::Avx2) return avx2::kAttentionLoops;
#endif
  static_cast<void>(level);
  return baseline::kAttentionLoops;
}

// Memory of this thread, kept from one call to the next: the calls do not allocate once it is
// large enough.
float* scratch(int64_t values) {
  thread_local std::vector<float> memory;
  if (memory.size() < static_cast<size_t>(values)) memory.resize(static_cast<size_t>(values));
  return memory.data();
}

// Packs the rows that compute(r, row) writes.
template <class Compute>
void pack_computed(const PackedRows& packed, RowRange range, const Compute& compute) {
  const RowBuffer to = row_buffer(packed);
  const RowLoops& loops = row_loops(packed.shape.level);
  float* row = scratch(packed.shape.inputs);
  for (int64_t r = range.begin; r < range.end; ++r) {
    compute(r, row);
    loops.pack(to, r, row, packed.shape.inputs);
  }
}

}  // namespace

void pack_rows(const FloatRows& x, const PackedRows& packed, RowRange range) {
  const RowBuffer to = row_buffer(packed);
  const RowLoops& loops = row_loops(packed.shape.level);
  for (int64_t r = range.begin; r < range.end; ++r) {
    loops.pack(to, r, x.data + r * x.stride, packed.shape.inputs);
  }
}

void glu_pack_rows(const FloatRows& x, const FloatRows& gate, const PackedRows& packed,
                   RowRange range) {
  const RowLoops& loops = row_loops(packed.shape.level);
  pack_computed(packed, range, [&](int64_t r, float* row) {
    loops.glu(x.data + r * x.stride, gate.data + r * gate.stride, packed.shape.inputs, row);
  });
}

void gated_gelu_pack_rows(const FloatRows& gate, const FloatRows& x, const PackedRows& packed,
                          RowRange range) {
  const RowLoops& loops = row_loops(packed.shape.level);
  pack_computed(packed, range, [&](int64_t r, float* row) {
    loops.gated_gelu(gate.data + r * gate.stride, x.data + r * x.stride, packed.shape.inputs, row);
  });
}

void norm_rows(const NormRows& rows, RowRange range) {
  const bool packs = rows.packed.data != nullptr;
  const RowLoops& loops = row_loops(packs ? rows.packed.shape.level : rows.level);
  const RowBuffer to = packs ? row_buffer(rows.packed) : RowBuffer{};
  float* own = rows.out == nullptr ? scratch(rows.channels) : nullptr;
  for (int64_t r = range.begin; r < range.end; ++r) {
    float* y = rows.out == nullptr ? own : rows.out + r * rows.out_stride;
    const float* residual =
        rows.residual.data == nullptr ? nullptr : rows.residual.data + r * rows.residual.stride;
    loops.norm(rows.x.data + r * rows.x.stride, rows.norm, residual, rows.channels, y);
    if (packs) loops.pack(to, r, y, rows.channels);
  }
}

void mean_rows(const FloatRows& x, int64_t rows, int64_t channels, float* out, CpuLevel level) {
  row_loops(level).mean(x, rows, channels, out);
}

LikeliestToken likeliest_token(const float* logits, int64_t count, CpuLevel level) {
  return row_loops(level).likeliest(logits, count);
}

float log_sum_exp(const float* logits, int64_t count, CpuLevel level) {
  return row_loops(level).log_sum_exp(logits, count);
}

void attention_rows(const SequenceAttention& attention, RowRange heads, RowRange queries) {
  attention_loops(attention.level)
      .attend(attention, heads, queries, scratch(kAttentionQueries * attention.keys));
}

}  // namespace convseq::kernels
