#pragma once

#include <torch/types.h>

#include "convseq/ops/lengths.h"
#include "convseq/runtime/engine.h"

namespace convseq {

// A batch of sequences, padded on the right.
struct PaddedIds {
  torch::Tensor ids = {};  // [B,T] int64
  ops::Lengths lengths = {};

  int64_t rows() const { return ids.size(0); }
  int64_t width() const { return ids.size(1); }
};

struct PadOptions {
  int64_t pad_token = 0;
  torch::Device device = torch::kCPU;
  // The batch is as large as its sequences need, but at least this large. An added row holds one
  // padding token.
  int64_t min_rows = 0;
  int64_t min_width = 1;
};

PaddedIds pad(const std::vector<TokenIds>& sequences, const PadOptions& options);

// The positions of the tokens in `padded`, [B,T] flattened: [N] int64. It is filled up to
// `min_count` with B·T, the position after the last.
torch::Tensor token_positions(const std::vector<TokenIds>& sequences, const PaddedIds& padded,
                              int64_t min_count = 0);

int64_t longest(const std::vector<TokenIds>& sequences);  // 0 of none

}  // namespace convseq
