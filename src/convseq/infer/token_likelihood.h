#pragma once

#include "convseq/model/seq2seq.h"

namespace convseq {

struct TokenLikelihood {
  torch::Tensor log = {};    // log p(target): [N] fp32, float64 of a float64 model
  torch::Tensor right = {};  // [N] bool: no token is likelier
};

// The likelihood of the targets [B,T] after each decoder output [B,T,d], at some positions of
// [B,T] flattened; the position B·T stands for none. It is computed in chunks, so that the logits
// of all tokens are never held at once.
TokenLikelihood token_likelihood(const Seq2Seq& model, const torch::Tensor& decoded,
                                 const torch::Tensor& targets, const torch::Tensor& positions);

// The sums over the rows of [B,T], zero but for `values` [N] at `positions` [N]: [B].
torch::Tensor row_sums(const torch::Tensor& values, const torch::Tensor& positions,
                       torch::IntArrayRef shape);

}  // namespace convseq
