#include "convseq/ops/reference/cross_entropy.h"

#include <torch/types.h>

namespace convseq::ops::reference {

CrossEntropy cross_entropy(torch::Tensor logits, const torch::Tensor& labels,
                           const CrossEntropyOptions& options) {
  logits.mul_(options.scale);
  const double smoothing = options.smoothing;
  const auto ignored = labels == options.ignored;
  const auto target = labels.masked_fill(ignored, 0).unsqueeze(1);
  const auto log_p = at::log_softmax(logits, 1);
  const auto target_log_p = log_p.gather(1, target);
  const auto log_z = logits.gather(1, target) - target_log_p;  // [c,1]

  const auto nll = target_log_p.squeeze(1).neg().masked_fill_(ignored, 0);
  const auto z_loss = log_z.squeeze(1).square().mul_(options.z_loss).masked_fill_(ignored, 0);
  auto loss = nll * (1 - smoothing) + z_loss;
  if (smoothing > 0) loss -= log_p.mean(1).mul_(smoothing).masked_fill_(ignored, 0);
  if (options.weights.defined()) loss *= options.weights;
  CrossEntropy result{.loss = loss.sum(torch::kFloat64),
                      .nll = nll.sum(torch::kFloat64),
                      .z_loss = z_loss.sum(torch::kFloat64),
                      .correct = (logits.argmax(1) == labels).sum(),
                      .gradient = {}};
  if (!options.gradient) return result;

  auto gradient = log_p.exp_();
  if (options.z_loss > 0) gradient *= 1 + 2 * options.z_loss * log_z;
  if (smoothing > 0) gradient -= smoothing / static_cast<double>(logits.size(1));
  gradient.scatter_add_(1, target, at::full_like(target_log_p, smoothing - 1));
  gradient.masked_fill_(ignored.unsqueeze(1), 0);
  if (options.weights.defined()) gradient *= options.weights.unsqueeze(1);
  result.gradient = gradient.to(*options.gradient);
  return result;
}

}  // namespace convseq::ops::reference
