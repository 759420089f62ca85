#include "convseq/infer/token_likelihood.h"

#include <torch/types.h>

namespace convseq {
namespace {

constexpr int64_t kTokensAtOnce = 1024;  // 130 MB of fp32 logits for 32,128 pieces

}  // namespace

TokenLikelihood token_likelihood(const Seq2Seq& model, const torch::Tensor& decoded,
                                 const torch::Tensor& targets, const torch::Tensor& positions) {
  const auto inside = positions.clamp_max(targets.numel() - 1);
  const auto states = decoded.flatten(0, 1).index_select(0, inside).split(kTokensAtOnce);
  const auto wanted = targets.flatten().index_select(0, inside).split(kTokensAtOnce);
  std::vector<torch::Tensor> log, right;
  for (size_t i = 0; i < wanted.size(); ++i) {
    auto logits = model.logits(states[i]);
    // A sum of exponentials in bf16 loses the rare tokens.
    if (logits.scalar_type() != torch::kFloat64) logits = logits.to(torch::kFloat32);
    log.push_back(logits.log_softmax(-1).gather(1, wanted[i].unsqueeze(1)).squeeze(1));
    right.push_back(logits.argmax(-1) == wanted[i]);
  }
  return {.log = torch::cat(log), .right = torch::cat(right)};
}

torch::Tensor row_sums(const torch::Tensor& values, const torch::Tensor& positions,
                       torch::IntArrayRef shape) {
  const int64_t count = shape[0] * shape[1];
  // One element more takes the values that stand for no position.
  const auto all = torch::zeros({count + 1}, values.options()).index_copy_(0, positions, values);
  return all.narrow(0, 0, count).view(shape).sum(1);
}

}  // namespace convseq
