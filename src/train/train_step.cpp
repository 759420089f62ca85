#include "train/train_step.h"

#include <torch/torch.h>

#include <cmath>
#include <numeric>

#include "train/clip.h"
#include "train/model_batch.h"

namespace convseq {
namespace {

// Adds up what micro-batches give. The sums stay on the device until means(): one wait a step, not
// three a micro-batch.
struct Sums {
  int64_t source_tokens = 0;
  int64_t target_tokens = 0;
  torch::Tensor sums;  // loss, nll, correct

  void add(const Batch& batch, const TokenLoss& loss) {
    const auto more =
        torch::stack({loss.loss_sum.detach().to(torch::kFloat64),
                      loss.nll_sum.detach().to(torch::kFloat64), loss.correct.to(torch::kFloat64)});
    sums = sums.defined() ? sums + more : more;
    target_tokens += convseq::target_tokens(batch);
    source_tokens +=
        std::accumulate(batch.source_lengths.begin(), batch.source_lengths.end(), int64_t{0});
  }

  StepResult means() const {
    if (!sums.defined()) return {};
    const auto mean = sums.cpu() / static_cast<double>(std::max<int64_t>(target_tokens, 1));
    return {.loss = mean[0].item<double>(),
            .nll = mean[1].item<double>(),
            .accuracy = mean[2].item<double>(),
            .source_tokens = source_tokens,
            .target_tokens = target_tokens};
  }
};

TokenLoss loss_of(Seq2Seq& model, const Batch& batch, const TrainStepOptions& options) {
  const ModelBatch inputs = to_model_batch(batch, model.config(), model.output_matrix().device());
  const auto encoded = model.encode(inputs.source, inputs.source_lengths);
  const auto decoded = model.decode(inputs.decoder_input, encoded, inputs.source_lengths);
  return token_loss(decoded.flatten(0, 1), model.output_matrix(), inputs.labels.flatten(),
                    {.output_scale = model.output_scale(),
                     .label_smoothing = options.label_smoothing,
                     .z_loss = options.z_loss});
}

std::vector<torch::Tensor> tensors_of(const TensorMap& map) {
  std::vector<torch::Tensor> tensors;
  for (const auto& [name, tensor] : map) tensors.push_back(tensor);
  return tensors;
}

}  // namespace

StepResult TrainStep::run(const std::vector<Batch>& micro_batches, double learning_rate) {
  model_.train();
  weights_.clear_gradients();
  int64_t tokens = 0;
  for (const Batch& batch : micro_batches) tokens += target_tokens(batch);
  Sums sums;
  for (const Batch& batch : micro_batches) {
    const TokenLoss loss = loss_of(model_, batch, options_);
    (loss.loss_sum / static_cast<double>(std::max<int64_t>(tokens, 1))).backward();
    sums.add(batch, loss);
  }
  weights_.collect_gradients();
  StepResult result = sums.means();
  result.gradient_norm = clip_by_global_norm(tensors_of(weights_.values()), options_.clip_norm);
  result.skipped = !std::isfinite(result.loss) || !std::isfinite(result.gradient_norm);
  if (!result.skipped) {
    optimizer_.step(learning_rate);
    weights_.publish();
  }
  return result;
}

StepResult evaluate_loss(Seq2Seq& model, const std::vector<Batch>& batches) {
  const torch::NoGradGuard no_grad;
  model.eval();
  Sums sums;
  for (const Batch& batch : batches) sums.add(batch, loss_of(model, batch, {}));
  return sums.means();
}

}  // namespace convseq
