#include "convseq/kernels/attention_checks.h"

#include "convseq/base/error.h"

namespace convseq::kernels {

bool fits_attention(const AttentionRows& rows) {
  return reinterpret_cast<uintptr_t>(rows.data) % 16 == 0 && rows.batch % 8 == 0 &&
         rows.head % 8 == 0 && rows.time % 8 == 0;
}

void check_attention(const AttentionShape& shape, std::initializer_list<const AttentionRows*> all) {
  constexpr int64_t kMost = INT32_MAX / 2;  // positions are counted in 32 bits
  require(shape.queries <= kMost && shape.keys <= kMost,
          "attention: {} queries and {} keys; allowed: {}", shape.queries, shape.keys, kMost);
  constexpr int64_t kMostBlocks = 65'535;  // in a dimension
  require(shape.batch <= kMostBlocks && shape.heads <= kMostBlocks,
          "attention: {} rows of {} heads; allowed: {} of each; use a smaller batch", shape.batch,
          shape.heads, kMostBlocks);
  require(shape.max_distance >= 0 && shape.max_distance <= kAttentionMaxDistance,
          "attention: a bias up to distance {}; allowed: {}", shape.max_distance,
          kAttentionMaxDistance);
  for (const AttentionRows* rows : all) {
    require(fits_attention(*rows), "attention: rows that do not begin at multiples of 16 bytes");
  }
}

}  // namespace convseq::kernels
