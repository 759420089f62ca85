#pragma once

#include <torch/types.h>

namespace convseq {

inline constexpr int64_t kIgnoredLabel = -100;

struct TokenLossOptions {
  double output_scale = 1;      // logits = output_scale · hidden Wᵀ (Seq2Seq::output_scale)
  double label_smoothing = 0;   // this share of each target spread evenly over the vocabulary
  double z_loss = 0;            // times log(Z)², keeps the softmax's normaliser near 1
  torch::Tensor weights = {};   // [N] fp32, of each target in loss_sum; undefined: all 1
  int64_t chunk_tokens = 1024;  // of the logits, only these many rows are held at a time
};

// A GPU wants large matmuls and has the memory; a CPU's caches want small ones.
int64_t loss_chunk_tokens(int64_t tokens, torch::Device device);

// Sums over the real targets, for the caller to add up over micro-batches and processes and to
// divide by `tokens`; on the device of the hidden states, so that nothing waits for them.
struct TokenLoss {
  torch::Tensor loss_sum;    // to differentiate: weighted, smoothed cross-entropy and z-loss
  torch::Tensor nll_sum;     // −log p(target); perplexity is exp(nll_sum / tokens)
  torch::Tensor z_loss_sum;  // the part of it in loss_sum
  torch::Tensor correct;     // targets that are the most likely token, int64
  torch::Tensor tokens;      // int64
};

// Token cross-entropy of logits that are never held whole: hidden [N,d], output matrix [V,d],
// labels [N] with kIgnoredLabel where there is no target. fp32 inside for bf16.
TokenLoss token_loss(const torch::Tensor& hidden, const torch::Tensor& output_matrix,
                     const torch::Tensor& labels, const TokenLossOptions& options);

}  // namespace convseq
