#pragma once

#include "convseq/model/seq2seq.h"

namespace convseq {

struct TokenLikelihood {
  torch::Tensor log = {};    // log p(target): [N] fp32, float64 of a float64 model
  torch::Tensor right = {};  // [N] bool: no token is likelier
};

// Of the target that follows each decoder output, [N,d] and [N]. In pieces: the logits of many
// tokens over the whole vocabulary are never held at once.
TokenLikelihood token_likelihood(const Seq2Seq& model, const torch::Tensor& decoded,
                                 const torch::Tensor& targets);

// Sums of `values` [N], which belong to the true places of `real` [B,T] in order, a row: [B].
torch::Tensor row_sums(const torch::Tensor& values, const torch::Tensor& real);

}  // namespace convseq
