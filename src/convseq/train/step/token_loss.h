#pragma once

#include <torch/types.h>

namespace convseq {

inline constexpr int64_t kIgnoredLabel = -100;

struct TokenLossOptions {
  double output_scale = 1;      // logits = output_scale · hidden Wᵀ (Seq2Seq::output_scale)
  double label_smoothing = 0;   // probability mass spread evenly over the vocabulary
  double z_loss = 0;            // weight of log(Z)², which keeps the softmax normaliser Z near 1
  torch::Tensor weights = {};   // [N] fp32: per-target weights in loss_sum; undefined: all 1
  int64_t chunk_tokens = 1024;  // rows of logits computed at a time
};

// Rows of logits per chunk: large matmuls on a GPU, chunks that fit the caches on a CPU.
int64_t loss_chunk_tokens(int64_t tokens, torch::Device device);

// Sums over the real targets. The caller adds them up over micro-batches and processes, then
// divides loss_sum by the total weight and the others by `tokens`. They stay on the device of the
// hidden states, so that no synchronisation is needed.
struct TokenLoss {
  torch::Tensor loss_sum;    // differentiable: weighted, smoothed cross-entropy plus z-loss
  torch::Tensor nll_sum;     // −log p(target); perplexity is exp(nll_sum / tokens)
  torch::Tensor z_loss_sum;  // the z-loss part of loss_sum
  torch::Tensor correct;     // int64: targets that are the most likely token
  torch::Tensor tokens;      // int64: real targets
};

// Token cross-entropy that never stores all logits: hidden [N,d], output matrix [V,d], labels [N]
// with kIgnoredLabel where there is no target. With bf16 inputs, logits and sums are in fp32.
TokenLoss token_loss(const torch::Tensor& hidden, const torch::Tensor& output_matrix,
                     const torch::Tensor& labels, const TokenLossOptions& options);

}  // namespace convseq
