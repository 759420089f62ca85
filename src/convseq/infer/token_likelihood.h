#pragma once

#include "convseq/model/seq2seq.h"

namespace convseq {

struct TokenLikelihood {
  torch::Tensor log = {};    // log p(target): [N] fp32, float64 of a float64 model
  torch::Tensor right = {};  // [N] bool: no token is likelier
};

// The likelihood of the target after each decoder output, [N,d] and [N]. It is computed in chunks,
// so that the logits of all tokens are never held at once.
TokenLikelihood token_likelihood(const Seq2Seq& model, const torch::Tensor& decoded,
                                 const torch::Tensor& targets);

// The sum of `values` [N] per row, [B]; they belong to the true positions of `real` [B,T] in order.
torch::Tensor row_sums(const torch::Tensor& values, const torch::Tensor& real);

}  // namespace convseq
