#pragma once

#include <torch/types.h>

#include <cstdint>
#include <vector>

#include "convseq/ops/lengths.h"

namespace convseq {

using TokenIds = std::vector<int32_t>;  // as the tokenizer gives and takes them

// Sequences side by side, the shorter ones filled up on the right.
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

// As wide as the longest, but at least 1: a batch of empty sequences is one of padding.
PaddedIds pad(const std::vector<TokenIds>& sequences, const PadOptions& options);

}  // namespace convseq
