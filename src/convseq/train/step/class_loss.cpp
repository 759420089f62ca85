#include "convseq/train/step/class_loss.h"

#include <torch/types.h>

namespace convseq {

TokenLoss class_loss(const torch::Tensor& logits, const torch::Tensor& all_labels,
                     const ClassLossOptions& options) {
  const auto labels = all_labels.flatten();
  const auto no_label = labels == kIgnoredLabel;  // padding rows
  const auto log_p = logits.log_softmax(1).masked_fill(no_label.unsqueeze(1), 0);
  const auto nll = -log_p.gather(1, labels.clamp_min(0).unsqueeze(1)).squeeze(1);
  auto loss = nll * (1 - options.label_smoothing) - log_p.mean(1) * options.label_smoothing;
  if (options.weights.defined()) loss = loss * options.weights;
  return {.loss_sum = loss.sum(torch::kFloat64),
          .nll_sum = nll.sum(torch::kFloat64),
          .z_loss_sum = torch::zeros({}, loss.options()),
          .correct = (logits.argmax(1) == labels).sum(),
          .tokens = no_label.logical_not().sum()};
}

TokenLoss label_set_loss(const torch::Tensor& logits, const torch::Tensor& all_labels,
                         const ClassLossOptions& options) {
  const auto labels = all_labels.slice(1, 0, logits.size(1));  // it may be padded to more columns
  const auto no_label = labels == kIgnoredLabel;
  const auto truth = labels.clamp_min(0).to(logits.scalar_type());
  // −log σ(z) = softplus(−z), and −log(1 − σ(z)) = softplus(z).
  const auto if_true = at::softplus(-logits).masked_fill(no_label, 0);
  const auto if_false = at::softplus(logits).masked_fill(no_label, 0);
  const auto nll = truth * if_true + (1 - truth) * if_false;
  const auto smooth = truth * (1 - options.label_smoothing) + options.label_smoothing / 2;
  const auto weighted = options.positives.defined() ? if_true * options.positives : if_true;
  auto loss = smooth * weighted + (1 - smooth) * if_false;
  if (options.weights.defined()) loss = loss * options.weights.unsqueeze(1);
  const auto right = (logits > 0) == (labels > 0);
  return {.loss_sum = loss.sum(torch::kFloat64),
          .nll_sum = nll.sum(torch::kFloat64),
          .z_loss_sum = torch::zeros({}, loss.options()),
          .correct = right.logical_and(no_label.logical_not()).sum(),
          .tokens = no_label.logical_not().sum()};
}

}  // namespace convseq
