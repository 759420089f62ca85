#pragma once

#include <torch/types.h>

#include <cstdint>
#include <vector>

#include "convseq/ops/lengths.h"

namespace convseq {

using TokenIds = std::vector<int32_t>;  // as the tokenizer gives and takes them

// A batch of sequences, padded on the right to the length of the longest.
struct PaddedIds {
  torch::Tensor ids = {};  // [B,T] int64
  ops::Lengths lengths = {};

  int64_t rows() const { return ids.size(0); }
  torch::Tensor real() const {  // [B,T] bool
    return lengths.all_full() ? torch::ones_like(ids, torch::kBool) : lengths.mask(ids.size(1));
  }
};

struct PadOptions {
  int64_t pad_token = 0;
  torch::Device device = torch::kCPU;
};

// At least one token wide: a batch of empty sequences is all padding.
PaddedIds pad(const std::vector<TokenIds>& sequences, const PadOptions& options);

}  // namespace convseq
