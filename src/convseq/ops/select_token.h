#pragma once

#include <torch/types.h>

namespace convseq::ops {

// The tokens that greedy decoding has chosen so far, all on the logits' device. The addresses stay
// the same, so that a step can be captured as a CUDA graph.
struct TokenSelection {
  torch::Tensor ids;                // [B,capacity] int64: the tokens of each row, then padding
  torch::Tensor log_probabilities;  // [B,capacity] fp32: of each token; 0 where padded
  torch::Tensor lengths;            // [B] int64: the number of tokens, the EOS included
  torch::Tensor ended;              // [B] bool: whether the last of them is the EOS
  torch::Tensor next;               // [B,1] int64: the input of the next step

  int64_t capacity() const { return ids.size(1); }
};

struct SelectTokenOptions {
  int64_t eos = 1;
  int64_t pad = 0;
};

// No token chosen yet; the first input is `start`.
TokenSelection start_selection(int64_t batch, int64_t capacity, int64_t start, int64_t pad,
                               torch::Device device);

// Appends to each row its likeliest token (the lowest id on ties) with log softmax(logits) of it;
// logits [B,V] or [B,1,V]. A row that has ended, or is full, stays as it is, and its next input is
// padding.
void select_token(const torch::Tensor& logits, const SelectTokenOptions& options,
                  TokenSelection& selection);

}  // namespace convseq::ops
